"""The tables of `uhost bench`: figures side by side, then times, then operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from uhost.report import tables
from uhost.report.units import count, duration

if TYPE_CHECKING:
    from uhost.runtime.benchmark import Benchmark, Spread


def bench_tables(results: Sequence[Benchmark]) -> RenderableType:
    """Returns figures and times of all models; of a single one its operators too."""
    parts: list[RenderableType] = [
        tables.bench([one.evaluation for one in results]),
        Text(""),
        times(results),
    ]
    seen = {one.timing.repeats for one in results}
    repeats = ", ".join(str(number) for number in sorted(seen))
    notes = f"{repeats} timed run{'' if seen == {1} else 's'}, by this machine's clock."
    if any(one.timing.cycles is None for one in results):
        notes += " A simulator's seconds are not the board's."
    parts.append(Text(notes, style="dim"))
    if len(results) == 1:
        parts += [Text(""), tables.operators(results[0].evaluation)]
    return Group(*parts)


def times(results: Sequence[Benchmark]) -> Table:
    """Returns upload, run and download times and the device's cycles, a line each."""
    numbers = ("bytes", "min", "median", "p95")
    made = tables.table("model", "", *numbers, right=numbers)
    for one in results:
        timing = one.timing
        name = one.evaluation.model
        lines: tuple[tuple[str, int | None, Spread], ...] = (
            ("upload", timing.upload_bytes, timing.upload_s),
            ("run", None, timing.run_s),
            ("download", timing.download_bytes, timing.download_s),
        )
        for index, (what, size_bytes, spread) in enumerate(lines):
            made.add_row(
                "" if index else name,
                what,
                "" if size_bytes is None else count(size_bytes),
                *(duration(value) for value in (spread.smallest, spread.median, spread.p95)),
            )
        if timing.cycles is not None:
            cycles = (timing.cycles.smallest, timing.cycles.median, timing.cycles.p95)
            made.add_row("", "device cycles", "", *(count(round(value)) for value in cycles))
    return made
