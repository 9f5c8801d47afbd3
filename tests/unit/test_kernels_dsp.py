"""Kernels of the SIMD library: what they take, how they pack, and that they are exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from weighted_layers import (
    DEPTHWISE,
    PLAIN,
    VECTOR,
    Layer,
    conv,
    depthwise,
    layer,
    with_constant,
)

from uhost.ir.dtype import DType
from uhost.kernels._kernel import candidates, library
from uhost.ops._op import Activation, Padding2D
from uhost.ops._weighted_examples import INT16, LayerStyle
from uhost.ops.transpose_conv import TransposeConvAttributes
from uhost.targets._cycles_dual_issue import CORTEX_M7

TILED = (1, 6, 6, 16)


def transposed(
    x: tuple[int, ...],
    weights: tuple[int, ...],
    stride: tuple[int, int] = (2, 2),
    style: LayerStyle | None = None,
) -> Layer:
    size = (x[1] * stride[0], x[2] * stride[1])
    attributes = TransposeConvAttributes(stride, (0, 0), size, Activation.NONE)
    return layer("transpose_conv", attributes, x, weights, style)


# ---- What is taken ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "chosen"),
    [
        (layer("conv_2d", PLAIN, (1, 3, 3, 5), (4, 1, 1, 5)), "conv_2d_pointwise"),
        (layer("conv_2d", PLAIN, (2, 3, 3, 5), (4, 1, 1, 5)), "conv_2d_pointwise"),
        (
            layer("conv_2d", replace(PLAIN, stride=(2, 2)), (1, 3, 3, 5), (4, 1, 1, 5)),
            "conv_2d_gathered",
        ),
        (
            conv(TILED, (4, 1, 1, 16), activation=Activation.RELU),
            "conv_2d_pointwise_small",
        ),
        (conv(TILED, (4, 3, 3, 16)), "conv_2d_winograd"),
        (conv((1, 5, 6, 16), (4, 3, 3, 16)), "conv_2d"),
        (conv((1, 5, 6, 3), (4, 3, 3, 3)), "conv_2d_gathered"),
        (
            layer("depthwise_conv_2d", DEPTHWISE, (1, 4, 4, 3), (1, 3, 3, 3)),
            "depthwise_conv_2d_3x3",
        ),
        (layer("depthwise_conv_2d", DEPTHWISE, (1, 4, 4, 3), (1, 2, 3, 3)), "depthwise_conv_2d"),
        (
            depthwise((1, 4, 4, 5), (1, 3, 3, 5), activation=Activation.RELU),
            "depthwise_conv_2d_3x3_rectified_narrow",
        ),
        (depthwise((1, 5, 7, 5), (1, 5, 4, 5)), "depthwise_conv_2d_strips"),
        (depthwise((1, 5, 7, 4), (1, 5, 4, 4)), "depthwise_conv_2d_direct"),
        (depthwise((1, 9, 7, 4), (1, 3, 3, 4), dilation=(2, 3)), "depthwise_conv_2d_strips"),
        (depthwise((1, 4, 4, 3), (1, 3, 3, 3), style=INT16), "depthwise_conv_2d_int16"),
        (conv(TILED, (8, 3, 3, 4)), "conv_2d_grouped"),
        (transposed((1, 3, 3, 4), (4, 3, 3, 4)), "transpose_conv"),
        (depthwise((1, 4, 4, 1), (1, 3, 3, 5)), "depthwise_conv_2d_one_input"),
        (
            layer(
                "depthwise_conv_2d", replace(DEPTHWISE, stride=(3, 3)), (1, 9, 9, 3), (1, 3, 3, 3)
            ),
            "depthwise_conv_2d",
        ),
        (layer("fully_connected", VECTOR, (1, 7), (3, 7)), "fully_connected"),
    ],
)
def test_most_specialised_kernel_comes_first(bound: Layer, chosen: str) -> None:
    taken = [stem for stem, kernel in candidates(bound.kind, "dsp") if not kernel.supports(bound)]
    assert next(stem for stem in taken if not stem.endswith("_pipelined")) == chosen


ORDERED = {
    "conv_2d": conv((1, 5, 6, 16), (4, 3, 3, 16)),
    "conv_2d_gathered": conv((1, 5, 6, 3), (4, 3, 3, 3)),
    "conv_2d_pointwise": conv((1, 3, 3, 24), (4, 1, 1, 24)),
    "conv_2d_winograd": conv(TILED, (4, 3, 3, 16), activation=Activation.RELU),
    "fully_connected": layer("fully_connected", VECTOR, (1, 40), (8, 40)),
}


@pytest.mark.parametrize("stem", ORDERED)
def test_the_order_for_two_instructions_a_cycle_trades_instructions_for_cycles(stem: str) -> None:
    bound = ORDERED[stem]
    costs = []
    for name in (stem, f"{stem}_pipelined"):
        kernel = library("dsp")[name]
        assert kernel.cost is not None
        costs.append(kernel.cost(bound, kernel.lower(bound)))
    plain, pipelined = costs
    assert pipelined.work.instructions > plain.work.instructions
    assert pipelined.work.multiply == plain.work.multiply
    assert pipelined.cycles["cortex-m7"] < CORTEX_M7.estimate(plain.work)
    assert not plain.cycles


POINTWISE = layer("conv_2d", PLAIN, (1, 3, 3, 4), (4, 1, 1, 4))


def scaled(factor: float, *bias: int) -> Layer:
    """A pointwise layer of one factor for all channels."""
    weights, output = POINTWISE.input(1), POINTWISE.output
    assert weights.quantization is not None
    quantization = replace(weights.quantization, scale=(factor,) * 4)
    values = np.resize(np.asarray(bias, np.int32), 4)
    inputs = (
        POINTWISE.inputs[0],
        replace(weights, quantization=quantization),
        replace(POINTWISE.input(2), values=values),
    )
    same_scale = replace(output, quantization=POINTWISE.input(0).quantization)
    return replace(POINTWISE, inputs=inputs, outputs=(same_scale,))


FLOATS = LayerStyle(dtype=DType.FLOAT32)
ONE_FACTOR = LayerStyle(per_channel=False)
SHIFTED_WEIGHTS = LayerStyle(per_channel=False, weight_zero_point=4)
ENDS = np.resize(np.asarray([-128, 127], np.int8), (4, 1, 1, 4))
IMAGE = (1, 3, 3, 4)


@pytest.mark.parametrize(
    ("stem", "bound", "reason"),
    [
        ("conv_2d", conv(IMAGE, (4, 2, 2, 4), style=FLOATS), "float32 input"),
        ("conv_2d", conv(IMAGE, (4, 2, 2, 2)), "grouped"),
        ("conv_2d", conv((2, 3, 3, 4), (4, 2, 2, 4)), "batch of 2"),
        ("conv_2d_pointwise", conv(IMAGE, (4, 1, 2, 4)), "not 1x1 with stride 1"),
        ("conv_2d_pointwise", conv(IMAGE, (4, 1, 1, 4), stride=(1, 2)), "not 1x1 with stride 1"),
        ("conv_2d_pointwise", conv(IMAGE, (4, 1, 1, 4), padding=Padding2D(1)), "padding"),
        ("conv_2d_pointwise", conv(IMAGE, (4, 1, 1, 2)), "grouped"),
        (
            "conv_2d_pointwise",
            with_constant(POINTWISE, 1, ENDS),
            "weights of a channel that are more than 254 apart",
        ),
        ("conv_2d_pointwise", scaled(2.0**-24, 2**30 + 2**23), "sums that reach 2^30"),
        ("conv_2d_pointwise", scaled(2.0**-17, 0, 2**23 + 2**16), "sums that reach 2^23"),
        ("conv_2d_pointwise", scaled(0.6, 0), "an output factor of 0.5 or more"),
        ("conv_2d_pointwise", scaled(2.0**-30, 2**29), "an output factor too small for its sums"),
        (
            "fully_connected_uniform",
            layer("fully_connected", VECTOR, (2, 4), (4, 4), ONE_FACTOR),
            "several vectors",
        ),
        (
            "fully_connected_uniform",
            layer("fully_connected", VECTOR, (1, 4), (4, 4)),
            "outputs of different factors",
        ),
        (
            "fully_connected_uniform",
            with_constant(
                layer("fully_connected", VECTOR, (1, 4), (4, 4), ONE_FACTOR),
                1,
                ENDS.reshape(4, 4),
            ),
            "weights of a channel that are more than 254 apart",
        ),
        ("conv_2d_int16", conv(IMAGE, (4, 2, 2, 4)), "int8 input"),
        ("conv_2d_int16", conv(IMAGE, (4, 2, 2, 2), style=INT16), "grouped"),
        ("conv_2d_int16", conv((2, 3, 3, 4), (4, 2, 2, 4), style=INT16), "batch of 2"),
        (
            "fully_connected_int16",
            with_constant(
                layer("fully_connected", VECTOR, (1, 600), (1, 600), INT16),
                1,
                np.full((1, 600), 127, np.int8),
            ),
            "sums of products that reach 2^31",
        ),
        (
            "fully_connected_int16",
            layer("fully_connected", VECTOR, (1, 4), (4, 4), SHIFTED_WEIGHTS),
            "weights with a zero point",
        ),
        ("conv_2d_gathered", conv(IMAGE, (4, 2, 2, 2)), "grouped"),
        ("conv_2d_gathered", conv(IMAGE, (4, 2, 2, 4), dilation=(2, 1)), "dilation"),
        (
            "conv_2d_gathered",
            conv((1, 5, 3, 1), (4, 5, 3, 1)),
            "a window of less than one or more than 32 words",
        ),
        ("conv_2d_gathered", conv(IMAGE, (4, 3, 3, 4)), "a single output"),
        ("conv_2d_gathered_framed", conv(IMAGE, (4, 2, 2, 4)), "no padding"),
        (
            "conv_2d_gathered_framed",
            conv((1, 40, 40, 3), (4, 2, 2, 3), padding=Padding2D(1)),
            "more than 1,024 bytes with the padding",
        ),
        (
            "conv_2d_gathered_framed",
            conv(IMAGE, (4, 1, 1, 4), padding=Padding2D(4), stride=(9, 9)),
            "windows that are all beside the image",
        ),
        (
            "conv_2d_gathered",
            conv((1, 12, 7, 1), (4, 11, 7, 1)),
            "too many bytes that fill no word",
        ),
        (
            "conv_2d_pointwise_small",
            conv(TILED, (4, 1, 1, 16), stride=(2, 2)),
            "not 1x1 with stride 1",
        ),
        ("conv_2d_pointwise_small", POINTWISE, "neither 8 nor 16 input channels"),
        ("conv_2d_pointwise_small", conv((1, 1, 1, 8), (4, 1, 1, 8)), "a single pixel"),
        (
            "conv_2d_pointwise_small",
            conv((1, 1, 2, 8), (2048, 1, 1, 8)),
            "more than 2047 output channels",
        ),
        (
            "conv_2d_pointwise_small",
            conv(TILED, (4, 1, 1, 16)),
            "no requantisation in two instructions",
        ),
        ("conv_2d_winograd", conv(TILED, (8, 3, 1, 16)), "not 3x3 with stride 1"),
        ("conv_2d_winograd", conv(TILED, (8, 3, 3, 16), stride=(2, 1)), "not 3x3 with stride 1"),
        ("conv_2d_winograd", conv(TILED, (8, 3, 3, 16), dilation=(1, 2)), "dilation"),
        ("conv_2d_winograd", conv(TILED, (8, 3, 3, 8)), "grouped"),
        ("conv_2d_winograd", conv((2, 6, 6, 16), (8, 3, 3, 16)), "batch of 2"),
        (
            "conv_2d_winograd",
            conv((1, 6, 6, 18), (8, 3, 3, 18)),
            "18 input channels, not a multiple of 4 from 16 to 80",
        ),
        (
            "conv_2d_winograd",
            conv((1, 6, 7, 16), (8, 3, 3, 16)),
            "outputs that are not whole pairs of tiles",
        ),
        (
            "conv_2d_winograd",
            conv((1, 4, 258, 16), (16, 3, 3, 16)),
            "rows of outputs that are too long",
        ),
        ("depthwise_conv_2d_3x3", depthwise(IMAGE, (1, 3, 2, 4)), "not 3x3"),
        ("depthwise_conv_2d_3x3", depthwise(IMAGE, (1, 3, 3, 4), stride=(3, 3)), "stride above 2"),
        ("depthwise_conv_2d_3x3_rectified", depthwise(IMAGE, (1, 2, 3, 4)), "not 3x3"),
        ("depthwise_conv_2d_3x3_rectified", depthwise((2, 3, 3, 4), (1, 3, 3, 4)), "batch of 2"),
        (
            "depthwise_conv_2d_3x3_rectified_narrow",
            depthwise((1, 3, 3, 3), (1, 3, 3, 3)),
            "fewer than four channels",
        ),
        (
            "depthwise_conv_2d_3x3_rectified_narrow",
            depthwise((1, 256, 256, 4), (1, 3, 3, 4)),
            "stride above 2, or lines too long",
        ),
        (
            "depthwise_conv_2d_3x3_rectified_narrow",
            depthwise(IMAGE, (1, 3, 3, 4)),
            "no requantisation in two instructions",
        ),
        ("depthwise_conv_2d_int16", depthwise(IMAGE, (1, 3, 3, 4)), "int8 input"),
        (
            "depthwise_conv_2d_int16",
            depthwise(IMAGE, (1, 3, 3, 8), style=INT16),
            "several outputs per channel",
        ),
        (
            "depthwise_conv_2d_int16",
            depthwise((2, 3, 3, 4), (1, 3, 3, 4), style=INT16),
            "batch of 2",
        ),
        ("conv_2d_grouped", conv((1, 4, 4, 8), (4, 3, 3, 8)), "a single group"),
        ("conv_2d_grouped", conv((2, 4, 4, 8), (4, 3, 3, 4)), "batch of 2"),
        (
            "depthwise_conv_2d_strips",
            depthwise((1, 5, 5, 3), (1, 5, 5, 3)),
            "fewer than four channels",
        ),
        (
            "depthwise_conv_2d_strips",
            depthwise((1, 12, 12, 4), (1, 12, 12, 4)),
            "a window of more than 128 taps",
        ),
        (
            "depthwise_conv_2d_strips",
            depthwise((1, 5, 5, 4), (1, 5, 5, 4), stride=(3, 3)),
            "stride above 2, or lines too long",
        ),
        (
            "depthwise_conv_2d_strips",
            depthwise((1, 600, 600, 4), (1, 5, 5, 4)),
            "stride above 2, or lines too long",
        ),
        ("depthwise_conv_2d_strips", depthwise(IMAGE, (1, 3, 3, 8)), "several outputs per channel"),
        ("transpose_conv", transposed((2, 3, 3, 4), (4, 3, 3, 4), (2, 2)), "batch of 2"),
        ("transpose_conv_int16", transposed((1, 3, 3, 4), (4, 3, 3, 4)), "int8 input"),
        (
            "transpose_conv_int16",
            transposed((2, 3, 3, 4), (4, 3, 3, 4), style=INT16),
            "batch of 2",
        ),
        (
            "transpose_conv",
            transposed((1, 3, 3, 4), (4, 3, 3, 4), (9, 8)),
            "more than 64 phases",
        ),
        ("transpose_conv", transposed((1, 3, 3, 4), (4, 3, 3, 4), style=FLOATS), "float32 input"),
        (
            "depthwise_conv_2d",
            depthwise((1, 33, 33, 1), (1, 33, 33, 1)),
            "a window of more than 32 rows and columns",
        ),
        ("depthwise_conv_2d_3x3", depthwise(IMAGE, (1, 3, 3, 8)), "several outputs per channel"),
        (
            "depthwise_conv_2d",
            depthwise((1, 20, 20, 1), (1, 20, 20, 1)),
            "a window of more than 256 taps",
        ),
        ("depthwise_conv_2d", depthwise((1, 5, 3, 4), (1, 3, 3, 4), dilation=(2, 1)), "dilation"),
        ("depthwise_conv_2d_one_input", depthwise(IMAGE, (1, 3, 3, 8)), "several input channels"),
        ("depthwise_conv_2d_one_input", depthwise((2, 3, 3, 1), (1, 3, 3, 2)), "batch of 2"),
        (
            "depthwise_conv_2d",
            depthwise((1, 1, 1, 4), (1, 2, 2, 4), padding=Padding2D(2, 1), stride=(3, 1)),
            "no window reaches the image",
        ),
        ("depthwise_conv_2d", depthwise((2, 3, 3, 4), (1, 3, 3, 4)), "batch of 2"),
        ("depthwise_conv_2d", depthwise(IMAGE, (1, 3, 3, 4), style=FLOATS), "float32 input"),
    ],
)
def test_refusal(stem: str, bound: Layer, reason: str) -> None:
    assert library("dsp")[stem].supports(bound) == reason


def test_two_layers_of_one_shape_share_a_function() -> None:
    kernel = library("dsp")["conv_2d"]
    first, second = (
        kernel.lower(layer("conv_2d", PLAIN, (1, 5, 5, 3), (4, 3, 3, 3), name=name))
        for name in ("first", "second")
    )
    assert first.function_key == second.function_key
    assert not np.array_equal(first.constants[0].values, second.constants[0].values)
