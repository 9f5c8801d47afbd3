"""`uhost inspect --variants`: the kernels of each operator, what they take, and which was taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import click

if TYPE_CHECKING:
    from rich.table import Table

    from uhost.codegen.lowered import Lowered
    from uhost.config.compilation import CompilationConfig
    from uhost.ir.graph import BoundOperator
    from uhost.kernels._partition import Variant

F = TypeVar("F", bound=Callable[..., Any])

TAKEN = "taken"


def choice_options(function: F) -> F:
    """Adds `--optimize`, `--flash-limit` and `--ram-limit`, for a verb without a project."""
    for what, of in (("ram", "arena"), ("flash", "code and constants")):
        function = click.option(
            f"--{what}-limit",
            metavar="SIZE",
            help=f"Most {what} of the model's {of}: 65536, 64k, 256KiB. Default: the board's.",
        )(function)
    return click.option(
        "--optimize",
        type=click.Choice(["speed", "balanced", "size"]),
        default="speed",
        help="What kernels are chosen for. Default: speed.",
    )(function)


def chosen_for(
    config: CompilationConfig, optimize: str, flash_limit: str | None, ram_limit: str | None
) -> CompilationConfig:
    """Returns a configuration with what the options of the choice say."""
    from uhost.config._sizes import parse_size
    from uhost.config.compilation import Optimize

    assert optimize in get_args(Optimize)
    limits = (
        parse_size(text, f"command line, --{what}-limit") if text else None
        for what, text in (("flash", flash_limit), ("ram", ram_limit))
    )
    flash_bytes, ram_bytes = limits
    return replace(
        config,
        optimize=cast("Optimize", optimize),
        flash_limit_bytes=flash_bytes,
        ram_limit_bytes=ram_bytes,
    )


def variant_records(lowered: Lowered) -> dict[str, Any]:
    """Returns operator → its kernels, the one taken first, and what all those taken need."""
    from uhost.codegen.choose import stated

    operators = []
    for bound in lowered.graph.bound_operators():
        selection = lowered.selections.get(bound.name)
        if selection is None:
            continue
        kernels = [_record(bound, selection.variant, TAKEN)]
        kernels += [_record(bound, one, reason) for one, reason in selection.others]
        kernels += [
            {"kernel": f"{one.library}/{one.kernel}".rstrip("/"), "verdict": f"refused: {reason}"}
            for one in selection.refused
            for reason in [one.reason]
        ]
        operators.append({"operator": bound.name, "kernels": kernels})
    total = stated([lowered])
    return {
        "operators": operators,
        "total": {
            "cycles": total.cycles,
            "instructions": total.instructions,
            "code_bytes": total.code_bytes,
            "constant_bytes": total.constant_bytes,
            "flash_bytes": total.flash_bytes,
            "arena_bytes": lowered.plan.arena_bytes,
        },
    }


def _record(bound: BoundOperator[Any], variant: Variant, verdict: str) -> dict[str, Any]:
    from uhost.codegen.lowered import constants_of

    cost = variant.cost
    constants = sum(c.values.nbytes for c in constants_of(bound, variant.call))
    return {
        "kernel": variant.place,
        "verdict": verdict,
        "cycles": variant.cycles,
        "instructions": cost.work.instructions if cost else None,
        "code_bytes": cost.code_bytes if cost else None,
        "shared_bytes": sum(cost.shared_bytes.values()) if cost else None,
        "constant_bytes": constants,
        "scratch_bytes": variant.call.scratch_bytes,
    }


_COUNTS = (
    ("cycles", "cycles"),
    ("instructions", "instructions"),
    ("code", "code_bytes"),
    ("shared", "shared_bytes"),
    ("weights", "constant_bytes"),
    ("scratch", "scratch_bytes"),
)


def variant_tables(record: dict[str, Any]) -> list[str | Table]:
    """Returns the kernels of every operator as a table, and the totals of those taken."""
    from uhost.report.tables import table
    from uhost.report.units import count, kib

    headers = [name for name, _ in _COUNTS]
    made = table("operator", "kernel", *headers, "", right=headers)
    for index, operator in enumerate(record["operators"]):
        if index:
            made.add_section()
        for row, kernel in enumerate(operator["kernels"]):
            figures = (count(kernel.get(key)) for _, key in _COUNTS)
            name = "" if row else operator["operator"]
            made.add_row(name, kernel["kernel"], *figures, kernel["verdict"])
    total = record["total"]
    return [
        made,
        "",
        f"Taken in all: {count(total['cycles'])} cycles, {count(total['instructions'])} "
        f"instructions, flash {kib(total['flash_bytes'])} (code {kib(total['code_bytes'])}, "
        f"constants {kib(total['constant_bytes'])}), arena {kib(total['arena_bytes'])}.",
        "Estimates, by the stated costs and a model of the core. Code and shared are bytes of a "
        "function and of what it calls; shared ones are in flash once.",
    ]
