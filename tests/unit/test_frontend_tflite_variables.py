"""Variables of TensorFlow Lite files: handles, initial values, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from build_tflite import Node, Subgraph, build_file

from uhost.errors import MalformedModelError, UnsupportedOperatorError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._op import evaluate

SHAPE = (2, 3)


def tensor(name: str, dtype: DType = DType.INT32, values: Array | None = None) -> Tensor:
    quantization = Quantization((0.5,), (-7,)) if dtype is DType.INT8 else None
    return Tensor(name, SHAPE, dtype, quantization, values)


def handle(name: str = "total") -> Node:
    return Node("VAR_HANDLE", (), ("handle",), {"SharedName": name, "Container": ""})


READ, ASSIGN = (
    Node("READ_VARIABLE", ("handle",), ("old",)),
    Node("ASSIGN_VARIABLE", ("handle", "x"), ()),
)


def call(index: int) -> Node:
    return Node("CALL_ONCE", (), (), {"InitSubgraphIndex": index})


def subgraph(
    nodes: Sequence[Node], dtype: DType = DType.INT32, values: Array | None = None
) -> Subgraph:
    """A subgraph on the tensors x, old and handle; x is its input unless it has values."""
    tensors = (tensor("x", dtype, values), tensor("old", dtype), Tensor("handle", (), DType.INT32))
    is_model = values is None
    ends: Mapping[str, Any] = {"inputs": ("x",), "outputs": ("old",)} if is_model else {}
    return Subgraph(tensors, nodes, resources=("handle",), **ends)


def load(*subgraphs: Subgraph) -> Graph:
    return FRONTEND.load(build_file(subgraphs), "m")


def test_handles_become_states_in_the_order_of_the_file() -> None:
    graph = load(subgraph([handle(), READ, ASSIGN]))
    assert [operator.kind for operator in graph.operators] == ["read_variable", "assign_variable"]
    assert graph.operators[0].inputs == graph.operators[1].outputs == ("total",)
    x = np.arange(6, dtype=np.int32).reshape(SHAPE)
    values = evaluate(graph, {"x": x})
    assert not values["old"].any()
    assert np.array_equal(values["total"], x)


def test_reading_after_assigning_gives_the_new_values() -> None:
    graph = load(subgraph([handle(), ASSIGN, READ]))
    x = np.full(SHAPE, 9, np.int32)
    assert np.array_equal(evaluate(graph, {"x": x})["old"], x)


def test_what_is_called_once_gives_initial_values() -> None:
    start = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    init = subgraph([handle(), ASSIGN], values=start)
    graph = load(subgraph([call(1), handle(), READ, ASSIGN]), init)
    assert np.array_equal(graph.states["total"], start)
    assert np.array_equal(evaluate(graph, {"x": start * 0})["old"], start)


@pytest.mark.parametrize(("dtype", "byte"), [(DType.INT8, 249), (DType.INT32, 0)])
def test_a_variable_without_values_is_filled_with_the_zero_point(dtype: DType, byte: int) -> None:
    graph = load(subgraph([handle(), READ, ASSIGN], dtype))
    assert set(graph.states["total"].tobytes()) == {byte}


def test_a_tensor_of_the_name_of_a_variable_keeps_apart() -> None:
    graph = load(subgraph([handle("x"), READ, ASSIGN]))
    assert list(graph.states) == ["x"]
    assert graph.inputs != ("x",)


def test_a_variable_of_two_shapes_is_a_contradiction() -> None:
    init = Subgraph(
        (Tensor("x", (6,), DType.INT32, None, np.zeros(6, np.int32)), tensor("handle")),
        [handle(), ASSIGN],
        resources=("handle",),
    )
    with pytest.raises(MalformedModelError, match=r"the variable 'total' is int32\[2x3\] here and"):
        load(subgraph([call(1), handle(), READ, ASSIGN]), init)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([READ], "takes a handle that no VAR_HANDLE of its subgraph makes"),
        ([call(5), handle(), READ], "subgraph 5 of 1 is named"),
        ([call(0), handle(), READ], "CALL_ONCE stands in a subgraph that is called itself"),
        ([Node("VAR_HANDLE", (), ("handle",), None), READ], "VAR_HANDLE names no variable"),
        ([Node("CALL_ONCE", (), (), None), handle(), READ], "CALL_ONCE has no options of its own"),
        (
            [handle(), Node("ASSIGN_VARIABLE", ("handle",), ()), READ],
            "ASSIGN_VARIABLE has 1 inputs and 0 outputs",
        ),
        ([handle(), Node("READ_VARIABLE", ("handle", "x"), ("old",))], "has 2 inputs"),
    ],
)
def test_what_is_wrong_with_variables_is_told(nodes: Sequence[Node], message: str) -> None:
    with pytest.raises((MalformedModelError, UnsupportedOperatorError), match=message):
        load(subgraph(nodes))


def test_calling_once_too_late_is_refused() -> None:
    init = subgraph([handle(), ASSIGN], values=np.ones(SHAPE, np.int32))
    with pytest.raises(UnsupportedOperatorError, match="comes after operators that may use"):
        load(subgraph([handle(), READ, call(1)]), init)
