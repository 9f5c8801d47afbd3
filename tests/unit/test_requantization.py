"""The rectified form: equal to the reference on every sum a channel can reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from uhost.numerics.requantization import RectifiedForm, Staircase, rectified_form

Integers = NDArray[np.int64]


def staircase(
    multipliers: list[int],
    shifts: list[int],
    ranges: list[tuple[int, int]],
    zero_point: int = -128,
    clamp: tuple[int, int] = (-128, 127),
) -> Staircase:
    return Staircase(
        np.asarray(multipliers, np.int64),
        np.asarray(shifts, np.int64),
        zero_point,
        *clamp,
        np.asarray([low for low, _ in ranges], np.int64),
        np.asarray([high for _, high in ranges], np.int64),
    )


def kernel(form: RectifiedForm, channel: int, bits: int, sums: Integers) -> Integers:
    """Returns what SMMLA and SSAT make of sums, whose registers must not wrap."""
    x = (sums + form.bias_changes[channel]) << bits
    word = form.addends[channel] + (x * form.multipliers[channel] >> 32)
    for register in (x, word, form.multipliers[channel], form.addends[channel]):
        assert (np.abs(register) < 1 << 31).all()
    result: Integers = np.clip(word >> (form.shift + bits), -128, 127)
    return result


def assert_equal(stairs: Staircase, form: RectifiedForm, bits: Integers) -> None:
    """Compares both at every sum of a short range; of a long one at its ends and steps too."""
    for channel in range(len(bits)):
        low, high = int(stairs.lowest_sums[channel]), int(stairs.highest_sums[channel])
        one = stairs.of(np.asarray([channel]))
        if high - low < 1 << 17:
            sums = np.arange(low, high + 1)
        else:
            coarse = np.linspace(low, high, 40001).astype(np.int64)
            jumps = np.flatnonzero(np.diff(one.values(coarse)))
            near = [np.arange(coarse[jump], coarse[jump + 1]) for jump in jumps]
            sums = np.concatenate([coarse, *near])
        exact = one.values(sums)
        found = kernel(form, channel, int(bits[channel]), sums)
        # A kernel clamps on its own where the range is not that of int8.
        assert np.array_equal(np.clip(found, stairs.low, stairs.high), exact)


@st.composite
def layers(draw: st.DrawFn, reach: int) -> tuple[Staircase, Integers]:
    count = draw(st.integers(1, 5))
    low = draw(st.integers(-128, 100))
    high = draw(st.integers(low, 127))
    zero_point = draw(st.integers(-128, low))
    ends = st.tuples(st.integers(-reach, reach), st.integers(-reach, reach))
    multipliers = st.one_of(
        st.integers(2**30, 2**31 - 1), st.sampled_from([2**30, 2**31 - 1, 0, 1518500250])
    )
    stairs = staircase(
        [draw(multipliers) for _ in range(count)],
        [draw(st.integers(-1, 40)) for _ in range(count)],
        [(min(pair), max(pair)) for pair in (draw(ends) for _ in range(count))],
        zero_point,
        (low, high),
    )
    return stairs, np.asarray([draw(st.sampled_from([0, 2, 8])) for _ in range(count)])


@settings(deadline=None)
@given(layers(1 << 15))
def test_short_ranges_are_equal_at_every_sum(layer: tuple[Staircase, Integers]) -> None:
    stairs, bits = layer
    form = rectified_form(stairs, bits)
    if form is not None:
        assert_equal(stairs, form, bits)


@settings(deadline=None)
@given(layers(1 << 23))
def test_long_ranges_are_equal_at_their_steps(layer: tuple[Staircase, Integers]) -> None:
    stairs, bits = layer
    form = rectified_form(stairs, bits)
    if form is not None:
        assert_equal(stairs, form, bits)


@pytest.mark.parametrize("bits", [0, 2, 8])
@pytest.mark.parametrize("zero_point", [-128, -77, 0])
def test_every_sum_of_a_layer_like_those_of_models(bits: int, zero_point: int) -> None:
    rng = np.random.default_rng(100 * bits + zero_point + 128)
    count = 48
    ends = [(-int(a), int(b)) for a, b in rng.integers(1 << 12, 1 << 15, (count, 2))]
    stairs = staircase(
        [int(m) for m in rng.integers(2**30, 2**31, count)],
        [int(r) for r in rng.integers(5, 10, count)],
        ends,
        zero_point,
        (zero_point, 127),
    )
    left = np.full(count, bits)
    form = rectified_form(stairs, left)
    assert form is not None, "layers of this kind must have a form"
    assert form.shift >= 2
    assert_equal(stairs, form, left)


def test_channels_that_cannot_change_keep_their_output() -> None:
    stairs = staircase([2**30, 0, 2**31 - 1], [4, 3, 40], [(70, 71), (-900, 900), (-9, 2**20)])
    form = rectified_form(stairs, np.asarray([0, 8, 0]))
    assert form is not None
    assert form.multipliers.tolist()[1:] == [0, 0]
    assert (form.addends[1:] >> form.shift + np.asarray([8, 0])).tolist() == [-128, -128]
    assert_equal(stairs, form, np.asarray([0, 8, 0]))


def test_outputs_at_the_ends_of_the_range_are_held() -> None:
    """Neither end reaches the clamp, so nothing but the two end conditions holds them."""
    stairs = staircase([2**30 + 12345], [6], [(9000, 9200)])
    form = rectified_form(stairs, np.asarray([0]))
    assert form is not None
    first, last = stairs.values(stairs.lowest_sums)[0], stairs.values(stairs.highest_sums)[0]
    assert -128 < first < last < 127
    assert_equal(stairs, form, np.asarray([0]))


SOLVED = staircase([2**30 + 7], [6], [(-(2**20), 2**20)])


@pytest.mark.parametrize(
    ("stairs", "bits"),
    [
        pytest.param(replace(SOLVED, zero_point=-127), 0, id="outputs below the zero point"),
        pytest.param(replace(SOLVED, multipliers=np.asarray([-(2**30)])), 0, id="falling"),
        pytest.param(replace(SOLVED, right_shifts=np.asarray([1])), 0, id="factor too large"),
        pytest.param(replace(SOLVED, highest_sums=np.asarray([2**22])), 8, id="sums too large"),
    ],
)
def test_layers_without_a_form(stairs: Staircase, bits: int) -> None:
    assert rectified_form(SOLVED, np.asarray([8])) is not None
    assert rectified_form(stairs, np.asarray([bits])) is None
