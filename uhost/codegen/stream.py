"""Which chains of operators may run row by row, and the graphs in which they do."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from uhost.ir.graph import Graph, Operator
from uhost.ops._op import UnsupportedNodeError
from uhost.ops._rows import stream_of
from uhost.ops.row_stream import row_stream
from uhost.planner.plan import MemoryPlan, shared_bytes

_LONGEST = 12
"""Operators of a chain: longer ones were never the best, and each is looked at."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators `first` to `last` of a graph, in its order, and about how many bytes they take.

    `row_bytes` is what all rings take together, `arena_bytes` the arena at its largest if the
    chain runs row by row.
    """

    first: int
    last: int
    row_bytes: int
    arena_bytes: int


def chains(graph: Graph, plan: MemoryPlan, apart: Collection[str] = frozenset()) -> list[Chain]:
    """Returns the chains that may run row by row and so make the plan smaller, best first.

    The operators named in `apart` are in none of them.
    """
    shared = shared_bytes(plan.blocks, plan.overlaps)
    live = [
        sum(b.size_bytes for b in plan.live_at(step)) - shared.get(step, 0)
        for step in range(len(graph.operators))
    ]
    found = []
    for first in range(len(graph.operators)):
        for last in range(first + 1, min(first + _LONGEST, len(graph.operators))):
            outside = max((*live[:first], *live[last + 1 :]), default=0)
            if outside >= plan.arena_bytes:
                continue
            operators = graph.operators[first : last + 1]
            whole = _whole(graph, operators)
            if whole is None or any(operator.name in apart for operator in operators):
                continue
            try:
                stream = stream_of(whole)
            except UnsupportedNodeError:
                continue
            rows = sum(ring.size_bytes for ring in stream.rings.values())
            ends = max(stream.source.size_bytes, stream.result.size_bytes)
            found.append(Chain(first, last, rows, max(outside, ends + rows)))
    smaller = [one for one in found if one.arena_bytes < plan.arena_bytes]
    return sorted(smaller, key=lambda one: (one.arena_bytes, one.last - one.first, one.first))


def streamed(graph: Graph, chain: Chain) -> Graph:
    """Returns the graph with a chain as one operator that runs row by row."""
    operators = graph.operators
    whole = _whole(graph, operators[chain.first : chain.last + 1])
    assert whole is not None
    taken = {operator.name for operator in operators}
    number = next(n for n in range(len(taken) + 1) if f"row_stream_{n}" not in taken)
    one = row_stream(whole, f"row_stream_{number}")
    return graph.with_operators((*operators[: chain.first], one, *operators[chain.last + 1 :]))


def _whole(graph: Graph, operators: tuple[Operator, ...]) -> Graph | None:
    """Returns the graph of a chain; None where it has several sources, or ends before its end."""
    made = {name for operator in operators for name in operator.outputs}
    inner = made - set(operators[-1].outputs)
    sources = set(_read(graph, operators)) - made
    names = {operator.name for operator in operators}
    outside = {
        name
        for operator in graph.operators
        if operator.name not in names
        for name in operator.inputs
    }
    if (
        len(operators[-1].outputs) != 1
        or len(sources) != 1
        or inner & (outside | {*graph.outputs})
        or sources & {*graph.states}
    ):
        return None
    used = {name for one in operators for name in (*one.inputs, *one.outputs) if name}
    tensors = {name: graph.tensors[name] for name in used}
    return Graph(graph.name, tensors, operators, tuple(sources), operators[-1].outputs)


def _read(graph: Graph, operators: tuple[Operator, ...]) -> Iterator[str]:
    for operator in operators:
        for name in operator.inputs:
            if name and not graph.tensors[name].is_constant:
                yield name
