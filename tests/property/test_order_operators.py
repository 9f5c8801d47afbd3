"""The order of operators: never worse, the best of all where all can be tried."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from drawn_graphs import CONFIG
from hypothesis import given, settings
from hypothesis import strategies as st

from uhost.config.pass_context import PassContext
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Tensor
from uhost.passes.order_operators import OrderOperators


def graph_of(
    sizes: list[int], inputs: list[tuple[int, ...]], states: tuple[int, ...] = ()
) -> Graph:
    """Tensor 0 is the graph's input; operator i makes tensor i + 1 from `inputs[i]`."""
    names = [f"t{i}" for i in range(len(sizes))]
    tensors = {n: Tensor(n, (size,), DType.INT8) for n, size in zip(names, sizes, strict=True)}
    operators = tuple(
        Operator(f"o{i}", "add", tuple(names[j] for j in read), (names[i + 1],), Attributes())
        for i, read in enumerate(inputs)
    )
    read = {j for one in inputs for j in one}
    ends = tuple(names[i] for i in range(1, len(sizes)) if i not in read)
    initial = {names[i]: np.zeros(sizes[i], np.int8) for i in states}
    return Graph("drawn", tensors, operators, (names[0],), ends, initial)


def ordered(graph: Graph, most: int = 500) -> Graph:
    module = OrderOperators(most).run(IRModule({graph.name: graph}, CONFIG), PassContext())
    return module.graphs[graph.name]


def peak(graph: Graph, order: tuple[Operator, ...]) -> int:
    """Counts anew, step by step, from lifetimes."""
    last = {n: len(order) if n in graph.outputs else -1 for n in graph.tensors}
    first = {n: 0 if n in graph.inputs else len(order) for n in graph.tensors}
    for step, operator in enumerate(order):
        for name in operator.outputs:
            first[name] = step
            last[name] = max(last[name], step)
        for name in operator.inputs:
            last[name] = max(last[name], step)
    return max(
        sum(
            t.size_bytes
            for n, t in graph.tensors.items()
            if first[n] <= step <= last[n] or (step == 0 and n in graph.inputs)
        )
        for step in range(len(order))
    )


def is_topological(graph: Graph, order: tuple[Operator, ...]) -> bool:
    made = set(graph.inputs)
    for operator in order:
        if not made.issuperset(operator.inputs):
            return False
        made.update(operator.outputs)
    return True


@st.composite
def drawn(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 6))
    sizes = draw(st.lists(st.integers(1, 99), min_size=count + 1, max_size=count + 1))
    inputs = [
        tuple(draw(st.lists(st.integers(0, i), min_size=1, max_size=2, unique=True)))
        for i in range(count)
    ]
    return graph_of(sizes, inputs)


@given(drawn())
@settings(max_examples=100, deadline=None)
def test_no_order_of_a_small_graph_has_a_lower_peak(graph: Graph) -> None:
    found = ordered(graph)
    found.verify()
    best = min(
        peak(graph, order)
        for order in itertools.permutations(graph.operators)
        if is_topological(graph, order)
    )
    assert peak(graph, found.operators) == best


@given(drawn())
@settings(max_examples=60, deadline=None)
def test_a_bounded_search_is_never_worse(graph: Graph) -> None:
    found = ordered(graph, most=1)
    found.verify()
    assert peak(graph, found.operators) <= peak(graph, graph.operators)


def test_a_branch_that_shrinks_is_finished_first() -> None:
    # Both branches widen and shrink again: one after the other only one is wide.
    graph = graph_of([10, 90, 90, 5, 5, 5], [(0,), (0,), (1,), (2,), (3, 4)])
    found = ordered(graph)
    assert [o.name for o in found.operators] == ["o0", "o2", "o1", "o3", "o4"]


@pytest.mark.parametrize("most", [1, 500])
def test_a_chain_stays_as_it_is(most: int) -> None:
    graph = graph_of([8, 64, 8, 32], [(0,), (1,), (2,)])
    assert ordered(graph, most).operators == graph.operators


def test_a_graph_without_operators_stays_as_it_is() -> None:
    tensor = Tensor("t0", (4,), DType.INT8)
    graph = Graph("empty", {"t0": tensor}, (), ("t0",), ("t0",))
    assert ordered(graph).operators == ()
