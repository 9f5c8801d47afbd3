"""Which blocks may share bytes: those whose last reader writes the other one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from uhost.ir.graph import Graph
from uhost.planner.lifetimes import lasting
from uhost.planner.plan import Block, Overlap

Stated = tuple[int, int | None, int | None]
"""Index of an input, least and most bytes it may begin behind the output."""


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
        limits = {index: (least, most) for index, least, most in stated.get(operator.name, ())}
        if not limits or len(operator.outputs) != 1:
            continue
        written = by_name.get(roots.get(operator.outputs[0], operator.outputs[0]))
        if written is None or written.first != step or written.name in graph.states:
            continue
        readers: dict[str, list[int]] = {}
        for index, name in enumerate(operator.inputs):
            root = roots.get(name, name)
            if root in by_name:
                readers.setdefault(root, []).append(index)
        for root, indices in readers.items():
            if by_name[root].last != step or root == written.name or root in kept:
                continue
            if any(index not in limits for index in indices):
                continue
            least = [limits[index][0] for index in indices]
            most = [limits[index][1] for index in indices]
            found.append(
                Overlap(
                    root,
                    written.name,
                    max((v for v in least if v is not None), default=None),
                    min((v for v in most if v is not None), default=None),
                )
            )
    return tuple(found)
