"""How the SIMD library packs weights, and that what it computes of them is exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from weighted_layers import (
    PLAIN,
    VECTOR,
    expected,
    layer,
    with_constant,
)

from uhost.kernels.dsp._channels import Channels, fold
from uhost.kernels.dsp._product import column_pairs, ends_of, pack, why_inexact
from uhost.kernels.dsp.conv_2d_gathered import gathered_pairs
from uhost.kernels.dsp.conv_2d_winograd import transformed_filters
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier
from uhost.ops._weighted_examples import LayerStyle


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
    bound = with_constant(layer("conv_2d", PLAIN, (1, 3, 3, 4), (4, 1, 1, 4)), 2, bias)
    channels = fold(bound)
    assert not channels.weights[:2].any()
    assert channels.bias[:2].tolist() == channels.multipliers[:2].tolist() == [0, 0]
    assert (channels.addends[:2] >> channels.shifts[:2]).tolist() == [127, -128]
    assert channels.weights[2:].any(axis=1).all()
    assert why_inexact(channels) == ""
