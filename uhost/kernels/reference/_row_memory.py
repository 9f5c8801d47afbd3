"""Where the rings and the scratch memory of a chain's kernels lie, and by how much they overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from uhost.kernels._overlap import Overlap, forward
from uhost.ops._rows import Pass, Stream

_ALIGNMENT_BYTES = 8

_MOST_PERMUTED = 6


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Offset of every ring and of every stage's scratch memory, and bytes of all."""

    rings: dict[str, int]
    scratch: dict[int, int]
    size_bytes: int


_Key = str | int
"""A ring's tensor, or the number of a stage, for its scratch memory."""


def layout_of(stream: Stream, passes: Sequence[Pass], scratch: Sequence[int]) -> Layout:
    """Returns the layout beside which source and result take the fewest bytes.

    Every order of placing is tried where there are few. A ring holds its rows at its beginning,
    so that what is in use only when it holds few may lie over its end.
    """
    sizes: dict[_Key, int] = {name: r.size_bytes for name, r in stream.rings.items()}
    sizes |= {number: size for number, size in enumerate(scratch) if size}
    gaps: dict[tuple[_Key, _Key], int] = {}
    for in_use in {_in_use(stream, one, scratch) for one in passes}:
        for below, size in in_use:
            for above, _ in in_use:
                if below != above:
                    gaps[below, above] = max(size, gaps.get((below, above), 0))
    orders: Iterable[Sequence[_Key]] = permutations(sizes)
    if len(sizes) > _MOST_PERMUTED:
        orders = (
            list(sizes),
            sorted(sizes, key=lambda key: (-sizes[key], str(key))),
            sorted(sizes, key=lambda key: (isinstance(key, int), -sizes[key], str(key))),
        )
    found = {tuple(_placed(order, gaps).items()) for order in orders}
    made = [_made_layout(dict(places), sizes) for places in sorted(found, key=str)]
    return min(made, key=lambda one: _needed(stream, passes, one, scratch))


def _in_use(stream: Stream, one: Pass, scratch: Sequence[int]) -> frozenset[tuple[_Key, int]]:
    """Returns what is in use while a row is made: key and bytes from its beginning on."""
    rings: list[tuple[_Key, int]] = [(n, r * stream.rings[n].row_bytes) for n, r in one.held]
    works = one.version is not None and scratch[one.stage]
    return frozenset([*rings, (one.stage, scratch[one.stage])] if works else rings)


def _placed(order: Sequence[_Key], gaps: Mapping[tuple[_Key, _Key], int]) -> dict[_Key, int]:
    """Returns offsets: one after the other, each as low as the ones before allow."""
    places: dict[_Key, int] = {}
    for key in order:
        tried = [0, *(at + gaps.get((other, key), 0) for other, at in places.items())]
        places[key] = min(
            offset
            for offset in (-(-one // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES for one in tried)
            if all(
                (other, key) not in gaps
                or offset >= at + gaps[other, key]
                or at >= offset + gaps[key, other]
                for other, at in places.items()
            )
        )
    return places


def _made_layout(places: Mapping[_Key, int], sizes: Mapping[_Key, int]) -> Layout:
    return Layout(
        {key: at for key, at in places.items() if isinstance(key, str)},
        {key: at for key, at in places.items() if isinstance(key, int)},
        max((at + sizes[key] for key, at in places.items()), default=0),
    )


def _needed(stream: Stream, passes: Sequence[Pass], layout: Layout, scratch: Sequence[int]) -> int:
    """Returns the bytes before the source where the scratch memory lies first, then the result."""
    result, memory = overlaps_of(stream, passes, layout, scratch)
    return max(memory.least or 0, layout.size_bytes + (result.least or 0), 0)


def overlaps_of(
    stream: Stream, passes: Sequence[Pass], layout: Layout, scratch: Sequence[int]
) -> tuple[Overlap, ...]:
    """Returns by how much result and scratch memory may run into the source."""
    source, result = stream.source, stream.result
    pitch = source.size_bytes // source.shape[1]
    first_read, made_end, used_end = [], [], []
    padded = max(
        (layout.rings[n] + r.before * r.row_bytes for n, r in stream.rings.items() if r.before),
        default=0,
    )
    for one in passes:
        stage = stream.stages[one.stage]
        rows = [row for name, row, _ in one.reads if name == source.name]
        first_read.append(min(rows, default=source.shape[1]) * pitch)
        made = used = 0
        ring = stream.rings.get(stage.output.name)
        if ring is None:
            made = (one.row + 1) * (result.size_bytes // result.shape[1])
        else:
            used = layout.rings[stage.output.name] + (one.place + 1) * ring.row_bytes
        if one.version is not None and scratch[one.stage]:
            used = max(used, layout.scratch[one.stage] + scratch[one.stage])
        made_end.append(made)
        used_end.append(max(used, padded))
    return (
        _forward(first_read, made_end),
        replace(_forward(first_read, used_end), scratch=True),
    )


def _forward(first_read: Sequence[int], written_end: Sequence[int]) -> Overlap:
    """Returns the overlap of what is read with what is written, from the first write on."""
    begin = next(i for i, end in enumerate(written_end) if end)
    reads, ends = np.array(first_read[begin:]), np.array(written_end[begin:])
    return forward(0, reads, ends, reads_first=False)
