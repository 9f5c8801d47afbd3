"""Which blocks may share bytes: those whose last reader writes the other one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from uhost.ir.graph import Graph
from uhost.planner.lifetimes import SCRATCH_SUFFIX, lasting
from uhost.planner.plan import Block, Overlap

Stated = tuple[int, int | None, int | None, bool]
"""Index of an input, least and most bytes it may begin behind the output, or the scratch memory."""


def overlaps_of(
    graph: Graph,
    roots: Mapping[str, str],
    blocks: Sequence[Block],
    stated: Mapping[str, Sequence[Stated]],
    keep_inputs: bool = False,
) -> tuple[Overlap, ...]:
    """Returns leave to share for every input that dies in an operator that allows it.

    `stated` is operator name → what its kernel says. An input that the operator reads twice
    needs leave for both; one that is a constant or a state, or is needed later, has none.
    """
    kept = {roots.get(name, name) for name in lasting(graph, keep_inputs)} | set(graph.states)
    by_name = {block.name: block for block in blocks}
    found: list[Overlap] = []
    for step, operator in enumerate(graph.operators):
        for in_scratch in (False, True):
            limits = {
                i: (lo, hi) for i, lo, hi, s in stated.get(operator.name, ()) if s is in_scratch
            }
            if not limits or len(operator.outputs) != 1:
                continue
            output = roots.get(operator.outputs[0], operator.outputs[0])
            written = by_name.get(operator.name + SCRATCH_SUFFIX if in_scratch else output)
            if written is None or written.first != step or written.name in graph.states:
                continue
            found += _of_inputs(operator.inputs, roots, by_name, kept, step, written.name, limits)
    return tuple(found)


def _of_inputs(
    inputs: Sequence[str],
    roots: Mapping[str, str],
    blocks: Mapping[str, Block],
    kept: set[str],
    step: int,
    written: str,
    limits: Mapping[int, tuple[int | None, int | None]],
) -> Iterator[Overlap]:
    """Yields leave to share with the block `written` for the inputs that die in `step`."""
    readers: dict[str, list[int]] = {}
    for index, name in enumerate(inputs):
        root = roots.get(name, name)
        if root in blocks:
            readers.setdefault(root, []).append(index)
    for root, indices in readers.items():
        if blocks[root].last != step or root == written or root in kept:
            continue
        if any(index not in limits for index in indices):
            continue
        least = [limits[index][0] for index in indices]
        most = [limits[index][1] for index in indices]
        yield Overlap(
            root,
            written,
            max((v for v in least if v is not None), default=None),
            min((v for v in most if v is not None), default=None),
        )
