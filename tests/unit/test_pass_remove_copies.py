"""remove_copies: what only hands its input on goes, or becomes a view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn_graphs import Sketch, kinds, proven

from uhost.ir.dtype import DType
from uhost.ir.graph import Absorbed, Attributes
from uhost.ir.tensor import Quantization
from uhost.ops._inputs import random_inputs
from uhost.ops._op import OPERATORS, Activation, Padding2D, evaluate
from uhost.ops.average_pool_2d import AveragePool2DAttributes
from uhost.ops.concatenation import ConcatenationAttributes
from uhost.ops.max_pool_2d import MaxPool2DAttributes
from uhost.ops.mean import MeanAttributes
from uhost.ops.pad import PadAttributes
from uhost.ops.quantize import QuantizeAttributes
from uhost.ops.relu import ReluAttributes
from uhost.ops.reshape import ReshapeAttributes

SHAPE = (1, 3, 4, 2)
ONE_PIXEL = ((1, 1), (1, 1), Padding2D(), Activation.NONE)
COPIES: dict[str, Attributes] = {
    "reshape": ReshapeAttributes(),
    "quantize": QuantizeAttributes(),
    "concatenation": ConcatenationAttributes(2),
    "pad": PadAttributes((0,) * 4, (0,) * 4, 5),
    "average_pool_2d": AveragePool2DAttributes(*ONE_PIXEL),
    "max_pool_2d": MaxPool2DAttributes(*ONE_PIXEL),
    "mean": MeanAttributes((0,), keep_dims=True),
}


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_copy_goes(kind: str, at_the_end: bool) -> None:
    sketch = Sketch(1, SHAPE)
    inner = sketch.add("relu", ReluAttributes())
    copy = sketch.add(kind, COPIES[kind], shape=SHAPE)
    if not at_the_end:
        sketch.add("relu", ReluAttributes())
    after = proven(sketch.graph(), "remove_copies")
    assert set(kinds(after)) == {"relu"}
    gone = inner if at_the_end else copy
    assert after.operators[0].absorbed == (Absorbed(f"{kind}_1", gone),)


def test_a_copy_of_an_input_into_an_output_stays() -> None:
    sketch = Sketch(2, SHAPE)
    sketch.add("reshape", ReshapeAttributes(), shape=SHAPE)
    assert kinds(proven(sketch.graph(), "remove_copies")) == ["reshape"]


def test_both_ends_of_a_copy_may_leave_the_graph() -> None:
    sketch = Sketch(3, SHAPE)
    inner = sketch.add("relu", ReluAttributes())
    copy = sketch.add("reshape", ReshapeAttributes(), shape=SHAPE)
    assert kinds(proven(sketch.graph(inner, copy), "remove_copies")) == ["relu", "reshape"]


def test_earlier_readers_follow_the_new_name() -> None:
    sketch = Sketch(4, SHAPE)
    inner = sketch.add("relu", ReluAttributes())
    other = sketch.add("relu", ReluAttributes())
    copy = sketch.add("reshape", ReshapeAttributes(), shape=SHAPE, source=inner)
    sketch.add("relu", ReluAttributes(), source=inner)
    after = proven(sketch.graph(other, copy, sketch.last), "remove_copies")
    assert kinds(after) == ["relu"] * 3
    assert [one.inputs for one in after.operators[1:]] == [(copy,), (copy,)]


@pytest.mark.parametrize(
    ("kind", "attributes", "quantization"),
    [
        ("quantize", QuantizeAttributes(), Quantization((0.5,), (0,))),
        ("pad", PadAttributes((0, 1, 0, 0), (0,) * 4, 5), "same"),
        ("max_pool_2d", MaxPool2DAttributes((1, 1), (2, 1), Padding2D(), Activation.NONE), "same"),
        (
            "average_pool_2d",
            AveragePool2DAttributes((1, 1), (1, 1), Padding2D(), Activation.RELU),
            "same",
        ),
        ("mean", MeanAttributes((1,), keep_dims=True), "same"),
        ("mean", MeanAttributes((0,), keep_dims=True), Quantization((0.5,), (0,))),
    ],
)
def test_what_changes_a_value_stays(kind: str, attributes: Attributes, quantization: Any) -> None:
    sketch = Sketch(5, SHAPE, zero_point=-3)
    sketch.add("relu", ReluAttributes())
    sketch.add(kind, attributes, quantization=quantization)
    assert kinds(proven(sketch.graph(), "remove_copies")) == ["relu", kind]


def test_float_poolings_change_minus_zero_and_stay() -> None:
    for kind in ("average_pool_2d", "max_pool_2d"):
        sketch = Sketch(6, SHAPE, DType.FLOAT32)
        sketch.add("relu", ReluAttributes())
        sketch.add(kind, COPIES[kind])
        assert kinds(proven(sketch.graph(), "remove_copies")) == ["relu", kind]


def test_another_shape_is_a_view() -> None:
    sketch = Sketch(7, (1, 3, 4))
    sketch.add("relu", ReluAttributes())
    mean = sketch.add("mean", MeanAttributes((0,), keep_dims=False))
    after = proven(sketch.graph(), "remove_copies")
    assert kinds(after) == ["relu", "reshape"]
    assert after.operators[1].outputs == (mean,)


def test_views_of_views_look_at_the_first() -> None:
    sketch = Sketch(8, (2, 6))
    first = sketch.add("relu", ReluAttributes())
    sketch.add("reshape", ReshapeAttributes(), shape=(3, 4))
    sketch.add("reshape", ReshapeAttributes(), shape=(12,))
    flat = sketch.last
    sketch.add("relu", ReluAttributes())
    after = proven(sketch.graph(), "remove_copies")
    assert kinds(after) == ["relu", "reshape", "relu"]
    assert after.operators[1].inputs == (first,)
    assert after.operators[1].outputs == (flat,)


def test_there_and_back_is_nowhere() -> None:
    sketch = Sketch(9, (2, 6))
    sketch.add("relu", ReluAttributes())
    sketch.add("reshape", ReshapeAttributes(), shape=(12,))
    sketch.add("reshape", ReshapeAttributes(), shape=(2, 6))
    sketch.add("relu", ReluAttributes())
    assert kinds(proven(sketch.graph(), "remove_copies")) == ["relu", "relu"]


EXAMPLES = [
    pytest.param(example, id=f"{kind.name}/{example.name}")
    for kind in OPERATORS
    for example in kind.examples()
    if kind.is_copy(next(example.graph.bound_operators()))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_that_says_it_copies_does(example: Any) -> None:
    graph = example.graph
    [operator] = graph.operators
    for seed in range(3):
        values = evaluate(graph, dict(zip(graph.inputs, random_inputs(graph, seed), strict=True)))
        source, result = values[operator.inputs[0]], values[operator.outputs[0]]
        assert np.ascontiguousarray(source).tobytes() == np.ascontiguousarray(result).tobytes()
