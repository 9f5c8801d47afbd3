"""Windows, requantisation and the calls that reference kernels make of weighted layers."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uhost.errors import VerifyError
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.kernels._kernel import library
from uhost.kernels._quantize import (
    accumulator_fits,
    bias_fits,
    channel_bias,
    channel_weights,
    folded_accumulator_fits,
    folded_bias,
)
from uhost.ops._op import (
    OPERATORS,
    Activation,
    Example,
    evaluate,
)
from uhost.ops._weighted import conv_requantization, factor_per_channel
from uhost.ops._window import Axis, tflite_padding
from uhost.ops.fully_connected import FullyConnectedAttributes

LAYERS = ("conv_2d", "depthwise_conv_2d", "fully_connected")
POOLS = ("average_pool_2d", "max_pool_2d")


def examples(*kinds: str) -> list[Any]:
    return [
        pytest.param(example, id=f"{kind}-{example.name}")
        for kind in kinds
        for example in OPERATORS[kind].examples()
    ]


def bound_of(example: Example) -> BoundOperator[Any]:
    return next(iter(example.graph.bound_operators()))


def named(kind: str, name: str) -> BoundOperator[Any]:
    """The operator of an example."""
    return bound_of(next(e for e in OPERATORS[kind].examples() if e.name == name))


def run(example: Example) -> tuple[Array, Array]:
    """Input and output of an example on seeded input."""
    image = bound_of(example).input(0)
    rng = np.random.default_rng(3)
    if image.dtype is DType.INT8:
        x: Array = rng.integers(-128, 128, image.shape).astype(np.int8)
    else:
        x = rng.normal(0, 1, image.shape).astype(np.float32)
    return x, evaluate(example.graph, {image.name: x})[bound_of(example).output.name]


# ---- Windows ---------------------------------------------------------------------------------

sizes = st.integers(1, 12)


@given(sizes, st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_same_padding_gives_every_stride_an_output(
    size: int, window: int, stride: int, dilation: int
) -> None:
    padding = tflite_padding(
        0, (1, size, size, 1), (window, window), (stride, stride), (dilation, dilation), ""
    )
    axis = Axis(size, window, stride, dilation, padding.top, padding.bottom)
    assert axis.output == -(-size // stride)
    assert padding.bottom - padding.top in (0, 1)
    assert (padding.left, padding.right) == (padding.top, padding.bottom)


@given(
    sizes,
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 6),
    st.integers(0, 6),
)
def test_taps_are_those_on_the_image(
    size: int, window: int, stride: int, dilation: int, before: int, after: int
) -> None:
    axis = Axis(size, window, stride, dilation, before, after)
    if axis.output < 1:
        return
    expected = {
        (o, tap, o * stride - before + tap * dilation)
        for o in range(axis.output)
        for tap in range(window)
        if 0 <= o * stride - before + tap * dilation < size
    }
    found = set()
    for tap, outputs, inputs in axis.taps():
        pairs = zip(
            range(axis.output)[outputs],
            range(inputs.start, inputs.stop, inputs.step),
            strict=True,
        )
        found |= {(o, tap, i) for o, i in pairs}
    assert found == expected
    counts = [sum(1 for e in expected if e[0] == o) for o in range(axis.output)]
    assert axis.valid_taps().tolist() == counts
    reach = [
        o * stride - before + tap * dilation
        for o, tap in product(range(axis.output), range(window))
    ]
    assert axis.starts_outside == (min(reach) < 0)
    assert axis.ends_outside == (max(reach) >= size)


def test_a_huge_window_costs_only_the_taps_on_the_image() -> None:
    axis = Axis(3, 60_000, 1, 1, 29_999, 30_000)
    assert len(list(axis.taps())) == 5
    assert axis.valid_taps().tolist() == [3, 3, 3]


# ---- Requantisation --------------------------------------------------------------------------


def with_scales(bound: BoundOperator[Any], x: float, w: float, y: float) -> BoundOperator[Any]:
    """A layer with other per-tensor scales."""
    scales = {0: x, 1: w}
    inputs = tuple(
        replace(t, quantization=Quantization((float(np.float32(scales[i])),), (0,)))
        if t is not None and i in scales
        else t
        for i, t in enumerate(bound.inputs)
    )
    output = replace(bound.output, quantization=Quantization((float(np.float32(y)),), (0,)))
    return replace(bound, inputs=inputs, outputs=(output,))


def test_only_fully_connected_rounds_the_product_of_per_tensor_scales_to_float() -> None:
    connected = with_scales(named("fully_connected", "per_tensor"), 0.1, 0.3, 0.7)
    convolution = with_scales(named("conv_2d", "valid_stride"), 0.1, 0.3, 0.7)
    x, w, y = np.float32(0.1), np.float32(0.3), np.float32(0.7)
    assert factor_per_channel(connected)[0] == float(x * w) / float(y)
    assert factor_per_channel(convolution)[0] == float(x) * float(w) / float(y)
    assert (
        conv_requantization(connected).multipliers[0]
        != (conv_requantization(convolution).multipliers[0])
    )


def test_shifts_reach_from_a_zero_multiplier_to_the_left() -> None:
    factors = conv_requantization(named("conv_2d", "extreme_shifts"))
    assert factors.multipliers[0] == 0
    assert factors.shifts.min() == -31
    assert factors.shifts.max() == 4
    assert not factors.is_uniform


@pytest.mark.parametrize("kind", LAYERS)
def test_folding_the_zero_point_keeps_every_sum(kind: str) -> None:
    example = next(iter(OPERATORS[kind].examples()))
    bound = bound_of(example)
    weights = channel_weights(bound)
    taps = np.random.default_rng(0).integers(-128, 128, weights.shape[1])
    plain = weights @ (taps - bound.input(0).zero_point) + channel_bias(bound)
    assert folded_bias(bound).dtype == np.int32
    np.testing.assert_array_equal(weights @ taps + folded_bias(bound), plain)
    assert folded_accumulator_fits(bound)
    assert bias_fits(bound)


def test_a_bias_at_the_end_of_int32_cannot_be_folded() -> None:
    bound = named("conv_2d", "extreme_values")
    assert accumulator_fits(bound)
    assert not bias_fits(bound)
    assert not folded_accumulator_fits(bound)
    with pytest.raises(VerifyError) as caught:
        folded_bias(bound)
    assert str(caught.value) == (
        "a bias with the input's zero point folded in leaves 32 bits\n"
        "  where: operator 'conv_2d' (conv_2d)"
    )


# ---- Calls of the reference kernels ----------------------------------------------------------


def lower(kind: str, name: str) -> Any:
    bound = named(kind, name)
    kernel = library("reference")[kind]
    assert kernel.supports(bound) == ""
    return kernel.lower(bound)


def test_a_pointwise_convolution_is_a_matrix_product() -> None:
    call = lower("conv_2d", "pointwise_odd_channels")
    assert (call.template, call.values["rows"]) == ("conv_2d_pointwise", 15)
    assert lower("conv_2d", "pointwise_stride").template == "conv_2d"


def test_the_zero_point_is_folded_where_nothing_is_padded() -> None:
    assert lower("conv_2d", "valid_stride").values["input_zero_point"] == 0
    assert lower("conv_2d", "same").values["input_zero_point"] == -5


def test_one_factor_for_all_channels_is_stored_once() -> None:
    roles = {c.role: c.values for c in lower("fully_connected", "per_tensor").constants}
    assert roles["multiplier"].shape == roles["shift"].shape == (1,)
    assert roles["shift"].dtype == np.int8


def test_a_layer_without_bias_and_zero_point_has_no_bias_array() -> None:
    call = lower("depthwise_conv_2d", "float_multiplier_dilation")
    assert [p.name for p in call.parameters] == ["input", "weights", "output"]


def test_only_a_dangerous_bias_wraps() -> None:
    assert lower("conv_2d", "extreme_values").values["bias_wraps"]
    assert not lower("conv_2d", "same").values["bias_wraps"]


def test_layers_of_one_shape_share_a_function() -> None:
    first = named("fully_connected", "per_tensor")
    weights = first.input(1)
    other = replace(weights, values=-weights.constant())
    second = replace(first, inputs=(first.input(0), other, first.input(2)))
    kernel = library("reference")["fully_connected"]
    assert kernel.lower(first).function_key == kernel.lower(second).function_key


def test_sums_beyond_32_bits_are_refused() -> None:
    scale = Quantization((0.5,), (0,))
    weights = Tensor("w", (1, 70_000), DType.INT8, scale, np.full((1, 70_000), -128, np.int8))
    image = Tensor("x", (1, 70_000), DType.INT8, Quantization((0.5,), (-128,)))
    output = Tensor("y", (1, 1), DType.INT8, scale)
    attributes = FullyConnectedAttributes(Activation.NONE, False)
    bound = BoundOperator("fc", "fully_connected", attributes, (image, weights), (output,))
    reason = library("reference")["fully_connected"].supports(bound)
    assert reason == "a sum of products may leave 32 bits"


def test_a_pooling_that_cannot_clamp_needs_no_include() -> None:
    assert lower("max_pool_2d", "halving").includes == ()
    assert lower("max_pool_2d", "global_window").includes == ("requantize",)


@pytest.mark.parametrize("kind", [*LAYERS, *POOLS])
def test_kernels_name_the_type_they_lack(kind: str) -> None:
    bound = bound_of(next(iter(OPERATORS[kind].examples())))
    image = replace(bound.input(0), dtype=DType.INT64)
    wide = replace(bound, inputs=(image, *bound.inputs[1:]))
    assert library("reference")[kind].supports(wide) == "no int64 arithmetic"
