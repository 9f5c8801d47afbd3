"""Results of `bench` as one HTML file that needs nothing else: tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from uhost import __version__, resources
from uhost.report.compare import Comparison, Difference, ModelDifference, where
from uhost.report.plots import WIDTH, BarPlot, Pair, Row, SchedulePlot, bars, pairs, schedule
from uhost.report.units import count, duration, frequency, percent, signed, size

Record = dict[str, Any]

_SPREADS = (
    ("upload", "upload_s", "upload_bytes"),
    ("run", "run_s", None),
    ("download", "download_s", "download_bytes"),
)

_COUNTS = ("instructions", "modelled cycles", "device cycles")
_PLOTTED = (*_COUNTS, "model flash (B)", "model RAM (B)")


@dataclass(frozen=True, slots=True)
class Section:
    """One result, ready to be printed."""

    anchor: str
    result: Record
    operators: BarPlot | None
    memory: SchedulePlot | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """One model in two results, ready to be printed."""

    anchor: str
    difference: ModelDifference
    names: tuple[str, str]
    figures: tuple[BarPlot, ...]
    operators: BarPlot | None


def report(results: Sequence[Record], compared: Comparison | None = None) -> str:
    """Returns the page for `results`; with `compared`, the differences stand first.

    Records are those of `uhost bench --json`; ones without `timing` and `memory` lack these
    parts. The page refers to nothing outside itself.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.folder("templates")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
    )
    environment.filters |= {
        "count": count,
        "duration": duration,
        "frequency": frequency,
        "percent": percent,
        "signed": signed,
        "size": size,
        "where": where,
    }
    return environment.get_template("report/bench.html.j2").render(
        version=__version__,
        width=WIDTH,
        title=_title(results, compared),
        sections=[_section(number, one) for number, one in enumerate(results)],
        contrasts=[_contrast(n, one) for n, one in enumerate(compared.models if compared else ())],
        compared=compared,
        spreads=_SPREADS,
        seconds=seconds,
        exact=_exact,
    )


def seconds(result: Record) -> float | None:
    """Returns the time of one inference at the clock.

    By measured cycles, else by modelled ones, else by instructions at one a cycle.
    """
    steps = result["device_cycles"] or result.get("cycles") or result["instructions"]
    return steps / result["clock_hz"] if steps and result["clock_hz"] else None


def _title(results: Sequence[Record], compared: Comparison | None) -> str:
    names = dict.fromkeys(one["model"] for one in results)
    return f"{'Comparison' if compared else 'Benchmark'} of {', '.join(names)}"


def _exact(result: Record) -> str:
    if result["exact"] is None:
        return "-"
    return "yes" if result["exact"] else "within tolerance" if result["matches"] else "NO"


def _section(number: int, result: Record) -> Section:
    return Section(
        f"result-{number}",
        result,
        _operator_bars(result),
        schedule(result) if result.get("memory") else None,
    )


def _operator_bars(result: Record) -> BarPlot | None:
    """Returns a bar per operator of what is known of all of them, the best first."""
    choices: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
        ("device_cycles", "Cycles per operator, by the device's counter", count),
        ("instructions", "Executed instructions per operator", count),
        ("seconds", "Time per operator on this machine", duration),
        ("macs", "Multiply-accumulates per operator; times are not known", count),
    )
    operators = result["operators"]
    for key, title, text in choices:
        if operators and all(one.get(key) is not None for one in operators):
            rows = [
                Row(f"{n}  {o['name']}", o[key], f"{o['name']}: {o['kernel']}, {o['macs']:,} MACs")
                for n, o in enumerate(operators)
            ]
            return bars(title, rows, text)
    return None


def _contrast(number: int, one: ModelDifference) -> Contrast:
    names = (where(one.a), where(one.b))
    figures = tuple(_figure(f) for f in one.figures if f.name in _PLOTTED and f.change is not None)
    rows = [Pair(o.name, o.a, o.b, o.percent) for o in one.operators]
    known = any(o.a is not None or o.b is not None for o in one.operators)
    plot = pairs(f"{one.unit.capitalize()} per operator", rows, count) if known else None
    return Contrast(f"contrast-{number}", one, names, figures, plot)


def _figure(figure: Difference) -> BarPlot:
    row = Pair(figure.name.removesuffix(" (B)"), figure.a, figure.b, figure.percent)
    return pairs(figure.name, [row], count if figure.name in _COUNTS else size)
