"""Geometry of the plots in reports: where every bar, block and tick goes, in SVG units.

The template prints what it finds here. All plots are `WIDTH` units wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from uhost.ir.printer import short_name
from uhost.report.units import kib, percent, share, size

WIDTH = 960
_NAMES = 250
"""Where bars begin: left of it stand their names."""
_NUMBERS = 150
"""What the numbers at the right take."""
_ROW = 24
_PAIRED_ROW = 17
_PAIR = 2 * _PAIRED_ROW + 8
_GLYPH = 6.4
"""The width of a character of a label."""
_AXIS = 64
_PLOT_HEIGHT = 320
_LABEL_HEIGHT = 15


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar and the text of its row; `series` chooses its colour, from 0."""

    y: float
    width: float
    name: str
    note: str
    value: str
    share: str
    series: int = 0


@dataclass(frozen=True, slots=True)
class BarPlot:
    """Horizontal bars, all from the same left edge, each in a row of `row_height`."""

    title: str
    bars: tuple[Bar, ...]
    height: float
    row_height: float
    left: float = _NAMES


@dataclass(frozen=True, slots=True)
class Tile:
    """One block of the arena over the steps it lives."""

    x: float
    y: float
    width: float
    height: float
    role: str
    label: str
    tip: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class SchedulePlot:
    """The arena, its offset upwards and the steps to the right.

    `bound` is the height of the lower bound, `peaks` the left edges of the steps at which
    the most bytes live, `step` the width of a step.
    """

    tiles: tuple[Tile, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    left: float
    top: float
    width: float
    height: float
    step: float
    peaks: tuple[float, ...]
    bound: Tick
    total_height: float


@dataclass(frozen=True, slots=True)
class Row:
    """What `bars` needs of one bar; a value of None is unknown."""

    name: str
    value: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """What `pairs` needs of two bars, and the change from a to b in percent."""

    name: str
    a: float | None
    b: float | None
    change: float | None


def bars(title: str, rows: Sequence[Row], text: Callable[[Any], str]) -> BarPlot:
    """Returns one bar per row, the longest as wide as the plot; `text` prints a value."""
    values = [row.value for row in rows if row.value is not None]
    whole, largest = sum(values), max(values, default=0)
    placed = tuple(
        Bar(
            y=index * _ROW,
            width=_length(row.value, largest),
            name=shorten(row.name, _NAMES - 12),
            note=row.note or row.name,
            value=text(row.value),
            share=_percent(row.value, whole),
        )
        for index, row in enumerate(rows)
    )
    return BarPlot(title, placed, _ROW * len(rows), _ROW)


def pairs(title: str, rows: Sequence[Pair], text: Callable[[Any], str]) -> BarPlot:
    """Returns two bars per row, one below the other, with the change beside the second."""
    values = [value for row in rows for value in (row.a, row.b) if value is not None]
    largest = max(values, default=0)
    placed = []
    for index, row in enumerate(rows):
        for series, value in enumerate((row.a, row.b)):
            placed.append(
                Bar(
                    y=index * _PAIR + series * _PAIRED_ROW,
                    width=_length(value, largest),
                    name="" if series else shorten(row.name, _NAMES - 12),
                    note=f"{row.name}, {'ab'[series]}",
                    value=text(value),
                    share=percent(row.change) if series else "",
                    series=series,
                )
            )
    return BarPlot(title, tuple(placed), _PAIR * len(rows), _PAIRED_ROW)


def _length(value: float | None, largest: float) -> float:
    return (WIDTH - _NAMES - _NUMBERS) * value / largest if value and largest else 0.0


def schedule(result: dict[str, Any]) -> SchedulePlot:
    """Returns the plot of a result's `memory`: who lives where in the arena, and when."""
    blocks = result["memory"]
    arena: int = max(1, result["arena_bytes"])
    steps = 1 + max((b["last"] for b in blocks), default=0)
    width, top = WIDTH - _AXIS - 8, 24
    step = width / steps

    def height_of(size_bytes: int) -> float:
        return _PLOT_HEIGHT * size_bytes / float(arena)

    def y_of(offset: int) -> float:
        return top + _PLOT_HEIGHT - height_of(offset)

    operators = [one["name"] for one in result["operators"]]
    tiles = []
    for b in blocks:
        tile_width, tile_height = step * (b["last"] - b["first"] + 1), height_of(b["size_bytes"])
        name = "scratch" if b["role"] == "scratch" else short_name(b["name"])
        label = f"{name}, {size(b['size_bytes'])}"
        fits = tile_height >= _LABEL_HEIGHT
        tiles.append(
            Tile(
                x=_AXIS + step * b["first"],
                y=y_of(b["offset"] + b["size_bytes"]),
                width=tile_width,
                height=tile_height,
                role=b["role"],
                label=_fit((label, name), tile_width - 10) if fits else "",
                tip=f"{b['name']} ({b['role']}): {b['size_bytes']:,} B at offset {b['offset']:,}, "
                f"steps {b['first']} to {b['last']} ({_between(operators, b)})",
            )
        )
    live = [_bytes_at(blocks, index) for index in range(steps)]
    every = max(1, -(-steps // 30))
    bound = result["arena_lower_bound_bytes"]
    return SchedulePlot(
        tuple(tiles),
        tuple(Tick(y_of(offset), kib(offset)) for offset in _ticks(arena)),
        tuple(Tick(_AXIS + step * (i + 0.5), str(i)) for i in range(0, steps, every)),
        _AXIS,
        top,
        width,
        _PLOT_HEIGHT,
        step,
        tuple(_AXIS + step * i for i, total in enumerate(live) if total == max(live)),
        Tick(y_of(bound), f"lower bound {size(bound)}"),
        top + _PLOT_HEIGHT + 44,
    )


def _bytes_at(blocks: Sequence[dict[str, Any]], step: int) -> int:
    """Returns the bytes taken at a step; those that two blocks share count once."""
    total = end = 0
    for b in sorted(blocks, key=lambda b: int(b["offset"])):
        if b["first"] <= step <= b["last"]:
            behind = b["offset"] + b["size_bytes"]
            total += max(behind - max(b["offset"], end), 0)
            end = max(end, behind)
    return total


def shorten(text: str, width: float) -> str:
    """Returns `text` with its middle left out where it is wider than `width` units."""
    most = max(1, int(width / _GLYPH))
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def _fit(choices: Sequence[str], width: float) -> str:
    """Returns the first text that fits into `width`, else the last one cut, else nothing."""
    for text in choices:
        if len(text) * _GLYPH <= width:
            return text
    return shorten(choices[-1], width) if width >= 5 * _GLYPH else ""


def _between(operators: Sequence[str], block: dict[str, Any]) -> str:
    named = operators[block["first"] : block["last"] + 1]
    if not named:
        return "no operator"
    return named[0] if len(named) == 1 else f"{named[0]} to {named[-1]}"


def _ticks(arena_bytes: int) -> list[int]:
    """Returns up to six offsets at round numbers of KiB, 0 first."""
    distance = 64
    while arena_bytes / distance > 5:
        distance *= 2
    return list(range(0, arena_bytes + 1, distance))


def _percent(part: float | None, whole: float) -> str:
    return share(None if part is None else round(part), round(whole)) if whole > 100 else ""
