"""Kernels of the SIMD library: what they take, how they pack, and that they are exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from weighted_layers import (
    DEPTHWISE,
    PLAIN,
    VECTOR,
    Layer,
    conv,
    depthwise,
    expected,
    layer,
    with_constant,
)

from uhost.ir.dtype import DType
from uhost.kernels._kernel import candidates, library
from uhost.kernels.dsp._channels import Channels, fold
from uhost.kernels.dsp._product import column_pairs, ends_of, pack, why_inexact
from uhost.kernels.dsp.conv_2d_gathered import gathered_pairs
from uhost.kernels.dsp.conv_2d_winograd import transformed_filters
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier
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


# ---- Packing ---------------------------------------------------------------------------------


def test_column_pairs_follow_the_widening() -> None:
    assert column_pairs(8, 1, even=False) == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert column_pairs(3, 2, even=False) == [(0, 1), (2, -1), (3, 4), (5, -1)]
    assert column_pairs(5, 1, even=False) == [(0, 2), (1, 3), (4, -1)]
    assert column_pairs(5, 1, even=True) == [(0, 2), (1, 3), (4, -1), (-1, -1)]


def test_gathered_pairs_join_what_rows_leave_over() -> None:
    words = [(0, 2), (1, 3), (4, 6), (5, 7), (9, 11), (10, 12), (13, 15), (14, 16)]
    assert gathered_pairs(2, 9) == [*words, (8, 17)]
    assert gathered_pairs(1, 5) == [(0, 2), (1, 3), (4, -1)]
    assert len(gathered_pairs(3, 9)) == 14


def smlad(a: int, b: int, total: int) -> int:
    def half(word: int, position: int) -> int:
        return (word >> position & 0xFFFF ^ 0x8000) - 0x8000

    return total + half(a, 0) * half(b, 0) + half(a, 16) * half(b, 16)


def sxtb16(word: int) -> int:
    low, high = ((word >> position & 0xFF ^ 0x80) - 0x80 for position in (0, 16))
    return low & 0xFFFF | (high & 0xFFFF) << 16


def signed32(value: int) -> int:
    return (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 13))
def test_stream_gives_every_sum(seed: int, channels: int, depth: int) -> None:
    """Does with the packed words what the kernel's instructions do with them."""
    rng = np.random.default_rng(seed)
    bound = layer("fully_connected", VECTOR, (1, depth), (channels, depth))
    weights = rng.integers(-127, 128, (channels, depth), dtype=np.int8)
    folded = fold(with_constant(bound, 1, weights))
    assert why_inexact(folded) == ""
    pairs = column_pairs(depth, 1, even=False)
    stream = [int(word) for word in pack(folded, pairs, ends_of(folded))]
    group_words = 4 + 2 * len(pairs) + 12
    assert len(stream) == group_words * -(-channels // 4)
    x = [*rng.integers(-128, 128, depth, dtype=np.int8).tolist(), 0]  # -1 reads the zero
    column = [x[a] & 0xFFFF | (x[b] & 0xFFFF) << 16 for a, b in pairs]
    for channel in range(channels):
        group = stream[channel // 4 * group_words :][:group_words]
        first = channel % 4 // 2
        words = group[4:-12][first::2]
        sum_a, sum_b = group[2 * first], group[2 * first + 1]
        for k_pair, word in zip(column, words, strict=True):
            sum_b = smlad(k_pair, word, sum_b)
            sum_a = smlad(k_pair, sxtb16(word), sum_a)
        total = signed32(sum_b - sum_a) >> 8 if channel % 2 else signed32(sum_a)
        exact = int(folded.weights[channel] @ np.asarray(x[:-1])) + int(folded.bias[channel])
        assert total == exact
        factor = [signed32(word) for word in group[-12:][3 * (channel % 4) :][:3]]
        expected_factor = (folded.multipliers, folded.addends, folded.shifts)
        assert factor == [int(values[channel]) for values in expected_factor]


def requantize(channels: Channels, sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns what SMMLAR, ADD, ASR and SSAT make of the sums of the first channel."""
    multiplier, addend, shift = (
        int(values[0]) for values in (channels.multipliers, channels.addends, channels.shifts)
    )
    high = addend + ((2 * sums * multiplier + (1 << 31)) >> 32)
    assert (np.abs(high) < 2**31).all()
    result: NDArray[np.int64] = np.clip((high + (sums >> 63)) >> shift, -128, 127)
    return result


@settings(deadline=None)
@given(
    exponent=st.floats(-40, -1.0),
    bias=st.integers(-(2**29), 2**29),
    zero_point=st.integers(-128, 127),
    seed=st.integers(0, 2**32 - 1),
)
def test_requantisation_is_exact_where_it_is_taken(
    exponent: float, bias: int, zero_point: int, seed: int
) -> None:
    style = LayerStyle(output_zero_point=zero_point, per_channel=False)
    bound = layer("fully_connected", VECTOR, (1, 16), (1, 16), style)
    weights = bound.input(1)
    assert weights.quantization is not None
    ratio = bound.output.scale / bound.input(0).scale
    scaled = replace(weights.quantization, scale=(float(np.float32(2.0**exponent * ratio)),))
    inputs = (bound.inputs[0], replace(weights, quantization=scaled), bound.inputs[2])
    bound = with_constant(replace(bound, inputs=inputs), 2, np.asarray([bias], np.int32))
    channels = fold(bound)
    if channels.why_inexact():
        return
    rng = np.random.default_rng(seed)
    x = rng.choice(np.asarray([-128, -1, 0, 127], np.int8), (200, 16))
    sums = x.astype(np.int64) @ channels.weights[0] + channels.bias[0]
    assert (sums >= channels.lowest_sum[0]).all()
    assert (sums <= channels.highest_sum[0]).all()
    many = replace(
        bound,
        inputs=(replace(bound.input(0), shape=x.shape), *bound.inputs[1:]),
        outputs=(replace(bound.output, shape=(200, 1)),),
    )
    assert np.array_equal(requantize(channels, sums), expected(many, x)[:, 0])


@pytest.mark.parametrize("shift", range(1, 12))
def test_requantisation_of_every_small_sum(shift: int) -> None:
    """Both roundings, exhaustively: ties of either sign are among these sums."""
    sums = np.arange(-(2**13), 2**13)
    nothing = fold(layer("fully_connected", VECTOR, (1, 1), (1, 1)))
    for multiplier in (2**30, 2**30 + 1, 1518500250, 2**31 - 1):
        addend = (1 << shift - 1) + 3 * (1 << shift)
        channels = replace(
            nothing,
            multipliers=np.asarray([multiplier]),
            addends=np.asarray([addend]),
            shifts=np.asarray([shift]),
        )
        exact = multiply_by_quantized_multiplier(sums, multiplier, -shift) + 3
        assert np.array_equal(requantize(channels, sums), np.clip(exact, -128, 127))


def test_transformed_filters_give_four_times_the_window() -> None:
    """A' (U * B' d B) A against the sum it stands for, with the largest numbers there are."""
    rng = np.random.default_rng(0)
    ends = np.array([-128, 127])
    filters = np.concatenate([rng.integers(-128, 128, (20, 3, 3)), rng.choice(ends, (20, 3, 3))])
    tile = rng.choice(ends, (40, 4, 4))
    left = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    back = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
    positions = left @ tile @ left.T
    assert np.abs(transformed_filters(filters)).max() < 1 << 15
    assert np.abs(positions).max() < 1 << 15
    outputs = back @ (transformed_filters(filters) * positions) @ back.T
    for y, x in ((0, 0), (0, 1), (1, 0), (1, 1)):
        direct = (tile[:, y : y + 3, x : x + 3] * filters).sum(axis=(1, 2))
        assert np.array_equal(outputs[:, y, x], 4 * direct)


def test_channel_that_cannot_change_is_made_constant() -> None:
    bias = np.asarray([2**31 - 2**20, -(2**31) + 2**20, 0, 5], np.int32)
    bound = with_constant(POINTWISE, 2, bias)
    channels = fold(bound)
    assert not channels.weights[:2].any()
    assert channels.bias[:2].tolist() == channels.multipliers[:2].tolist() == [0, 0]
    assert (channels.addends[:2] >> channels.shifts[:2]).tolist() == [127, -128]
    assert channels.weights[2:].any(axis=1).all()
    assert why_inexact(channels) == ""
