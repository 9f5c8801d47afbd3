"""fold_padding: PAD becomes padding of what reads it, where that is the same to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawn_graphs import Sketch, kinds, proven, with_weights
from hypothesis import given, settings
from hypothesis import strategies as st

from uhost.ir.dtype import DType
from uhost.ir.graph import Absorbed
from uhost.ops._op import Activation, Padding2D
from uhost.ops.average_pool_2d import AveragePool2DAttributes
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.max_pool_2d import MaxPool2DAttributes
from uhost.ops.pad import PadAttributes
from uhost.ops.relu import ReluAttributes
from uhost.passes.fold_padding import _fold

AMOUNT = st.integers(0, 2)


def pad(sketch: Sketch, value: float, rows: tuple[int, int], columns: tuple[int, int]) -> str:
    attributes = PadAttributes((0, rows[0], columns[0], 0), (0, rows[1], columns[1], 0), value)
    return sketch.add("pad", attributes)


@given(
    st.integers(0, 10_000),
    st.sampled_from([DType.INT8, DType.FLOAT32]),
    st.booleans(),
    st.tuples(AMOUNT, AMOUNT, AMOUNT, AMOUNT),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.sampled_from([Padding2D(), Padding2D(1, 0, 1, 2)]),
    st.sampled_from([-128, -7, 127]),
)
@settings(max_examples=60, deadline=None)
def test_a_pad_before_a_convolution_is_its_padding(
    seed: int,
    dtype: DType,
    depthwise: bool,
    amounts: tuple[int, int, int, int],
    window: tuple[int, int],
    stride: tuple[int, int],
    padding: Padding2D,
    zero_point: int,
) -> None:
    sketch = Sketch(seed, (2, 5, 4, 3), dtype, zero_point)
    padded = pad(sketch, zero_point if dtype is DType.INT8 else 0.0, amounts[:2], amounts[2:])
    sketch.convolution(2, window, depthwise=depthwise, stride=stride, padding=padding)
    after = proven(sketch.graph(), "fold_padding")
    if "pad" not in kinds(after):
        assert after.operators[0].absorbed == (Absorbed("pad_0", padded),)
        assert padded not in after.tensors


def test_the_paddings_add_up() -> None:
    sketch = Sketch(1, (1, 6, 6, 2))
    pad(sketch, -128, (0, 1), (1, 0))
    pad(sketch, -128, (1, 0), (0, 2))
    sketch.convolution(3, (3, 3), padding=Padding2D(0, 0, 1, 0))
    after = proven(sketch.graph(), "fold_padding")
    [operator] = after.operators
    assert isinstance(operator.attributes, Conv2DAttributes)
    assert operator.attributes.padding == Padding2D(1, 1, 2, 2)
    assert operator.title == "conv_2d_2 (also pad_1, pad_0)"


def test_all_readers_take_it_or_none() -> None:
    sketch = Sketch(2, (1, 5, 5, 3))
    padded = pad(sketch, -128, (1, 1), (1, 1))
    first = sketch.convolution(2, (3, 3))
    sketch.last = padded
    second = sketch.convolution(1, (3, 3), depthwise=True)
    assert "pad" not in kinds(proven(sketch.graph(first, second), "fold_padding"))
    sketch.last = padded
    third = sketch.add("relu", ReluAttributes())
    assert "pad" in kinds(proven(sketch.graph(first, second, third), "fold_padding"))
    assert "pad" in kinds(proven(sketch.graph(first, second, padded), "fold_padding"))


@pytest.mark.parametrize("state", ["x.relu", "padded"])
def test_a_pad_of_a_state_stays(state: str) -> None:
    sketch = Sketch(2, (1, 5, 5, 3))
    source = sketch.add("relu", ReluAttributes())
    padded = pad(sketch, -128, (1, 1), (1, 1))
    sketch.convolution(2, (3, 3))
    name = source if state == "x.relu" else padded
    initial = {name: np.zeros(sketch.tensors[name].shape, np.int8)}
    assert "pad" in kinds(_fold(replace(sketch.graph(), states=initial)))
    assert "pad" not in kinds(_fold(sketch.graph()))


@pytest.mark.parametrize("value", [-127, 0])
def test_a_pad_with_another_value_stays(value: int) -> None:
    sketch = Sketch(3, (1, 5, 5, 3))
    pad(sketch, value, (1, 1), (1, 1))
    sketch.convolution(2, (3, 3))
    assert "pad" in kinds(proven(sketch.graph(), "fold_padding"))


def test_a_pad_of_channels_or_images_stays() -> None:
    for before in ((0, 0, 0, 1), (1, 0, 0, 0)):
        sketch = Sketch(4, (1, 5, 5, 3))
        sketch.add("pad", PadAttributes(before, (0, 0, 0, 0), -128))
        sketch.convolution(2, (3, 3))
        assert "pad" in kinds(proven(sketch.graph(), "fold_padding"))


def test_a_window_in_padding_alone_stays_as_it_is() -> None:
    sketch = Sketch(5, (1, 5, 5, 3))
    pad(sketch, -128, (3, 0), (0, 0))
    sketch.convolution(2, (2, 2))
    assert "pad" in kinds(proven(sketch.graph(), "fold_padding"))


def test_an_infinite_weight_keeps_the_pad() -> None:
    sketch = Sketch(6, (1, 5, 5, 3), DType.FLOAT32)
    pad(sketch, 0.0, (1, 1), (1, 1))
    sketch.convolution(2, (3, 3))
    graph = sketch.graph()
    weights = graph.tensors["w1"].constant().copy()
    weights[0, 0, 0, 0] = np.inf
    # Not proven by results: infinity times zero is a NaN, of which there are many.
    assert "pad" in kinds(_fold(with_weights(graph, "w1", weights)))
    assert "pad" not in kinds(_fold(graph))


@pytest.mark.parametrize(
    ("dtype", "value", "goes"),
    [
        (DType.INT8, -128, True),
        (DType.INT8, -127, False),
        (DType.FLOAT32, float("-inf"), True),
        (DType.FLOAT32, 0.0, False),
    ],
)
def test_a_pad_that_cannot_win_goes_into_a_maximum(dtype: DType, value: float, goes: bool) -> None:
    sketch = Sketch(7, (1, 5, 5, 3), dtype)
    pad(sketch, value, (1, 1), (0, 1))
    sketch.add("max_pool_2d", MaxPool2DAttributes((3, 2), (2, 2), Padding2D(), Activation.NONE))
    assert ("pad" not in kinds(proven(sketch.graph(), "fold_padding"))) == goes


@pytest.mark.parametrize(("zero_point", "goes"), [(3, True), (4, False)])
def test_a_rectified_input_tells_what_can_win(zero_point: int, goes: bool) -> None:
    """After a ReLU nothing is below the zero point: 3 cannot win over what is 3 and more."""
    sketch = Sketch(8, (1, 6, 6, 2))
    sketch.convolution(3, (1, 1), activation=Activation.RELU, zero_point=3)
    pad(sketch, zero_point, (1, 1), (1, 1))
    sketch.add("max_pool_2d", MaxPool2DAttributes((2, 2), (2, 2), Padding2D(), Activation.NONE))
    assert ("pad" not in kinds(proven(sketch.graph(), "fold_padding"))) == goes


def test_an_average_counts_what_pad_adds() -> None:
    sketch = Sketch(9, (1, 4, 4, 2))
    pad(sketch, -128, (1, 1), (1, 1))
    attributes = AveragePool2DAttributes((2, 2), (1, 1), Padding2D(), Activation.NONE)
    sketch.add("average_pool_2d", attributes)
    assert "pad" in kinds(proven(sketch.graph(), "fold_padding"))
