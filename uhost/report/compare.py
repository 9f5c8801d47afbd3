"""Two sets of results side by side: what a change of code, board or toolchain did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from uhost.errors import ConfigError
from uhost.report.tables import table
from uhost.report.units import count, percent, signed

Record = dict[str, Any]

FIGURES = (
    ("instructions", "instructions"),
    ("modelled cycles", "cycles"),
    ("device cycles", "device_cycles"),
    ("model flash (B)", "model_flash_bytes"),
    ("image flash (B)", "image_flash_bytes"),
    ("arena (B)", "arena_bytes"),
    ("stack (B)", "stack_bytes"),
    ("model RAM (B)", "model_ram_bytes"),
    ("image RAM (B)", "image_ram_bytes"),
)
"""What is compared of a model: its name for people, and its field in the results."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure in both results; None where a result does not have it."""

    name: str
    a: int | None
    b: int | None

    @property
    def change(self) -> int | None:
        """How much more b is; None unless both are known."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def percent(self) -> float | None:
        """The change in percent of a; None unless both are known and a is not 0."""
        return None if self.change is None or not self.a else 100 * self.change / self.a


@dataclass(frozen=True, slots=True)
class ModelDifference:
    """One model in both results: its figures, and the instructions of its operators.

    Where both sides know the cycles of every operator, `unit` is `cycles`, else
    `instructions`.
    """

    model: str
    a: Record
    b: Record
    figures: tuple[Difference, ...]
    operators: tuple[Difference, ...]
    unit: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of results; models that only one of them has are named."""

    models: tuple[ModelDifference, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def read_results(path: Path) -> list[Record]:
    """Returns the results in a file that `uhost bench --json` wrote; else `ConfigError`."""
    fix = "give a file with what `uhost bench --json` printed"
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise ConfigError(
            f"the results cannot be read: {error.strerror}", str(path), "check the path"
        ) from error
    except ValueError as error:
        raise ConfigError(f"the file is not JSON: {error}", str(path), fix) from error
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, list) or not all(_is_result(one) for one in results):
        raise ConfigError("the file holds no results of `uhost bench`", str(path), fix)
    return results


def _is_result(one: object) -> bool:
    needed = {"model", "board", "runner", "toolchain", "operators", *(key for _, key in FIGURES)}
    return (
        isinstance(one, dict)
        and needed <= one.keys()
        and isinstance(one["operators"], list)
        and all(
            isinstance(o, dict) and {"name", "instructions"} <= o.keys() for o in one["operators"]
        )
    )


def compare_results(a: Sequence[Record], b: Sequence[Record]) -> Comparison:
    """Returns the differences from `a` to `b`.

    Results belong together when model, board, runner and toolchain are equal; what is
    left then by model alone, in order.
    """
    left, right = list(a), list(b)
    pairs: list[tuple[Record, Record]] = []
    for keys in (("model", "board", "runner", "toolchain"), ("model",)):
        for one in list(left):
            other = next((r for r in right if all(r[key] == one[key] for key in keys)), None)
            if other is not None:
                pairs.append((one, other))
                left.remove(one)
                right.remove(other)
    order = {id(one): number for number, one in enumerate(a)}
    pairs.sort(key=lambda pair: order[id(pair[0])])
    return Comparison(
        tuple(_compare_model(one, other) for one, other in pairs),
        tuple(one["model"] for one in left),
        tuple(one["model"] for one in right),
    )


def _compare_model(a: Record, b: Record) -> ModelDifference:
    figures = tuple(Difference(name, a[key], b[key]) for name, key in FIGURES)
    known = all(o.get("device_cycles") is not None for r in (a, b) for o in r["operators"])
    unit = "device_cycles" if known and a["operators"] else "instructions"
    left = {o["name"]: o[unit] for o in a["operators"]}
    right = {o["name"]: o[unit] for o in b["operators"]}
    operators = tuple(
        Difference(name, left.get(name), right.get(name))
        for name in [*left, *(name for name in right if name not in left)]
    )
    return ModelDifference(
        a["model"], a, b, figures, operators, "cycles" if known and left else "instructions"
    )


def where(record: Record) -> str:
    """Returns on what a result was measured."""
    return f"{record['board']}, {record['runner']}, {record['toolchain']}"


def comparison_tables(compared: Comparison) -> RenderableType:
    """Returns a table of figures and one of operators for every model in both results."""
    parts: list[RenderableType] = []
    for one in compared.models:
        a, b = where(one.a), where(one.b)
        parts.append(Text(f"{one.model}: {a}" if a == b else f"{one.model}: {a} → {b}", "bold"))
        parts += [_table("figure", one.figures), Text("")]
        parts += [_table(f"operator, {one.unit}", one.operators), Text("")]
    for side, names in (("first", compared.only_a), ("second", compared.only_b)):
        if names:
            parts.append(Text(f"Only in the {side} file: {', '.join(names)}."))
    if not compared.models:
        parts.append(Text("The files have no model in common."))
    return Group(*parts)


def _table(header: str, rows: Sequence[Difference]) -> Table:
    numbers = ("a", "b", "b - a", "change")
    made = table(header, *numbers, right=numbers)
    for one in rows:
        style = "" if not one.change else "green" if one.change < 0 else "red"
        made.add_row(
            one.name,
            count(one.a),
            count(one.b),
            Text(signed(one.change), style),
            Text(percent(one.percent), style),
        )
    return made


def comparison_records(compared: Comparison) -> list[Record]:
    """Returns the fields of every model in both results; see `docs/json.md`."""
    return [
        {
            "model": one.model,
            "a": {key: one.a[key] for key in ("board", "runner", "toolchain")},
            "b": {key: one.b[key] for key in ("board", "runner", "toolchain")},
            "unit": one.unit,
            "figures": [_record(difference) for difference in one.figures],
            "operators": [_record(difference) for difference in one.operators],
        }
        for one in compared.models
    ]


def _record(difference: Difference) -> Record:
    return {
        "name": difference.name,
        "a": difference.a,
        "b": difference.b,
        "change": difference.change,
        "percent": difference.percent,
    }
