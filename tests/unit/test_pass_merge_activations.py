"""merge_activations: a clamp becomes the fused activation of the operator before it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from drawn_graphs import Sketch, kinds, proven
from hypothesis import given, settings
from hypothesis import strategies as st

from uhost.ir.dtype import DType
from uhost.ir.graph import Absorbed
from uhost.ir.tensor import Quantization
from uhost.ops._op import Activation, Padding2D
from uhost.ops.add import AddAttributes
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.fully_connected import FullyConnectedAttributes
from uhost.ops.max_pool_2d import MaxPool2DAttributes
from uhost.ops.relu import ReluAttributes
from uhost.ops.relu6 import Relu6Attributes
from uhost.passes.merge_activations import _merge, _narrower

CLAMPS = {"relu": ReluAttributes(), "relu6": Relu6Attributes()}


@given(
    st.integers(0, 10_000),
    st.sampled_from([DType.INT8, DType.FLOAT32]),
    st.sampled_from(["conv_2d", "depthwise_conv_2d", "fully_connected", "add", "max_pool_2d"]),
    st.sampled_from(list(Activation)),
    st.lists(st.sampled_from(list(CLAMPS)), min_size=1, max_size=3),
    st.sampled_from([-128, -20, 100]),
)
@settings(max_examples=80, deadline=None)
def test_clamps_merge_into_every_kind(
    seed: int,
    dtype: DType,
    kind: str,
    fused: Activation,
    clamps: list[str],
    zero_point: int,
) -> None:
    sketch = Sketch(seed, (1, 3, 4, 3), dtype, zero_point)
    if kind in ("conv_2d", "depthwise_conv_2d"):
        sketch.convolution(
            2, (2, 2), depthwise=kind != "conv_2d", activation=fused, zero_point=zero_point
        )
    elif kind == "fully_connected":
        shape = (2, 3)
        drawn = sketch.random.standard_normal(shape) * (1 if dtype is DType.FLOAT32 else 50)
        weights = sketch.constant("w", drawn.astype(dtype.numpy), 0)
        sketch.add(kind, FullyConnectedAttributes(fused, keep_dims=True), weights)
    elif kind == "add":
        sketch.add(kind, AddAttributes(fused), "x", quantization=sketch.quantization(zero_point))
    else:
        sketch.add(kind, MaxPool2DAttributes((2, 2), (1, 1), Padding2D(), fused))
    for clamp in clamps:
        sketch.add(clamp, CLAMPS[clamp])
    graph = sketch.graph()
    after = proven(graph, "merge_activations")
    if fused is not Activation.RELU_N1_TO_1:
        assert kinds(after) == [kind]
        [operator] = after.operators
        assert [one.operator for one in operator.absorbed] == [o.name for o in graph.operators[1:]]


def test_the_tensor_before_the_clamp_is_named() -> None:
    sketch = Sketch(1, (1, 4, 4, 3))
    inner = sketch.convolution(2, (3, 3))
    sketch.add("relu6", Relu6Attributes())
    after = proven(sketch.graph(), "merge_activations")
    [operator] = after.operators
    assert operator.absorbed == (Absorbed("relu6_1", inner),)
    assert operator.title == "conv_2d_0 (also relu6_1)"
    assert isinstance(operator.attributes, Conv2DAttributes)
    assert operator.attributes.activation is Activation.RELU6


def test_a_tensor_that_others_need_stays() -> None:
    sketch = Sketch(2, (1, 4, 4, 3))
    inner = sketch.convolution(2, (3, 3))
    outer = sketch.add("relu", ReluAttributes())
    assert kinds(proven(sketch.graph(inner, outer), "merge_activations")) == ["conv_2d", "relu"]
    sketch.add("relu6", Relu6Attributes(), source=inner)
    other = sketch.last
    assert len(proven(sketch.graph(outer, other), "merge_activations").operators) == 3


@pytest.mark.parametrize("change", ["scale", "zero_point"])
def test_a_clamp_that_rescales_stays(change: str) -> None:
    sketch = Sketch(3, (1, 4, 4, 3))
    inner = sketch.convolution(2, (3, 3), zero_point=-10)
    scale, zero_point = sketch.tensors[inner].scale, sketch.tensors[inner].zero_point
    other = (scale * 2, zero_point) if change == "scale" else (scale, zero_point - 1)
    sketch.add("relu", ReluAttributes(), quantization=Quantization((other[0],), (other[1],)))
    assert kinds(proven(sketch.graph(), "merge_activations")) == ["conv_2d", "relu"]


@pytest.mark.parametrize("state", ["inner", "outer"])
def test_a_state_is_written_where_it_was(state: str) -> None:
    sketch = Sketch(5, (1, 4, 4, 3))
    inner = sketch.convolution(2, (1, 1))
    outer = sketch.add("relu", ReluAttributes())
    name = inner if state == "inner" else outer
    end = sketch.add("relu6", Relu6Attributes(), source=outer)
    initial = {name: np.zeros(sketch.tensors[name].shape, np.int8)}
    graph = replace(sketch.graph(end), states=initial)
    after = _merge(graph)
    after.verify()
    assert name in after.states
    assert any(name in one.outputs for one in after.operators)
    assert kinds(after)[:2] == ["conv_2d", "relu"]


def test_what_cannot_clamp_does_not() -> None:
    sketch = Sketch(4, (2, 6))
    sketch.add("relu", ReluAttributes())
    sketch.add("relu6", Relu6Attributes())
    assert kinds(proven(sketch.graph(), "merge_activations")) == ["relu", "relu6"]


def test_two_clamps_are_one_only_where_one_lies_in_the_other() -> None:
    for one, other in product(Activation, Activation):
        low = max(one.bounds[0], other.bounds[0])
        high = min(one.bounds[1], other.bounds[1])
        both = next((a for a in Activation if a.bounds == (low, high)), None)
        assert _narrower(one, other) is both
    assert _narrower(Activation.RELU, Activation.RELU_N1_TO_1) is None
