"""Fixed-point requantisation against scalar models in Python's own integers and fractions."""

from __future__ import annotations

import math
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uhost.codegen.environment import render
from uhost.ir.dtype import DType
from uhost.ir.tensor import Quantization, Tensor
from uhost.numerics.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    activation_range,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_int32,
)
from uhost.ops._op import Activation

EDGES = (INT32_MIN, INT32_MIN + 1, -(2**30), -1, 0, 1, 2**30 - 1, 2**30, INT32_MAX - 1, INT32_MAX)
int32 = st.integers(INT32_MIN, INT32_MAX) | st.sampled_from(EDGES)
multipliers = st.integers(2**30, INT32_MAX) | st.sampled_from([0, 2**30, INT32_MAX])
shifts = st.integers(-40, 30)


def truncating_divide(a: int, b: int) -> int:
    """The division of C, with b > 0."""
    return a // b if a >= 0 else -(-a // b)


def scalar_high_multiply(a: int, b: int) -> int:
    """gemmlowp's text: a nudge with the sign of the product, and a division toward zero."""
    if a == b == INT32_MIN:
        return INT32_MAX
    nudge = 2**30 if a * b >= 0 else 1 - 2**30
    return truncating_divide(a * b + nudge, 2**31)


def scalar_round_half_away(x: Fraction) -> int:
    rounded = math.floor(abs(x) + Fraction(1, 2))
    return rounded if x >= 0 else -rounded


def scalar_requantize(x: int, multiplier: int, shift: int) -> int:
    shifted = (x << max(shift, 0)) & 0xFFFFFFFF
    shifted -= (shifted >> 31) << 32
    high = scalar_high_multiply(shifted, multiplier)
    return scalar_round_half_away(Fraction(high, 2 ** max(-shift, 0)))


@given(int32, int32)
def test_high_multiply(a: int, b: int) -> None:
    got = saturating_rounding_doubling_high_multiply(np.asarray([a]), b)
    assert got.tolist() == [scalar_high_multiply(a, b)]


def test_high_multiply_sends_ties_upward() -> None:
    a = np.asarray([1, -1, 3, -3], np.int32)
    assert saturating_rounding_doubling_high_multiply(a, 2**30).tolist() == [1, 0, 2, -1]


@given(int32, st.integers(0, 70))
def test_rounding_divide(x: int, exponent: int) -> None:
    got = rounding_divide_by_power_of_two(np.asarray([x]), exponent)
    assert got.tolist() == [scalar_round_half_away(Fraction(x, 2**exponent))]


def test_rounding_divide_sends_ties_away_from_zero() -> None:
    x = np.asarray([1, -1, 3, -3, 2, -2], np.int32)
    assert rounding_divide_by_power_of_two(x, 1).tolist() == [1, -1, 2, -2, 1, -1]


@given(int32, multipliers, shifts)
def test_multiply_by_quantized_multiplier(x: int, multiplier: int, shift: int) -> None:
    got = multiply_by_quantized_multiplier(np.asarray([x], np.int32), multiplier, shift)
    assert got.tolist() == [scalar_requantize(x, multiplier, shift)]


def test_multipliers_and_shifts_broadcast_over_channels() -> None:
    x = np.asarray([[1000, 1000], [-1000, -1000]], np.int32)
    got = multiply_by_quantized_multiplier(
        x, np.asarray([2**30, 2**30], np.int32), np.asarray([0, -2], np.int32)
    )
    assert got.tolist() == [[500, 125], [-500, -125]]


@given(st.floats(2.0**-45, 2.0**29))
def test_quantize_multiplier_is_the_nearest(factor: float) -> None:
    multiplier, shift = quantize_multiplier(factor)
    if (multiplier, shift) == (0, 0):
        assert factor < 2.0**-32
        return
    assert 2**30 <= multiplier < 2**31
    assert -31 <= shift <= 30
    unit = Fraction(2) ** (shift - 31)
    assert abs(multiplier * unit - Fraction(factor)) <= unit / 2


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (0.0, (0, 0)),
        (1.0, (2**30, 1)),
        (0.5, (2**30, 0)),
        (1 - 2.0**-40, (2**30, 1)),
        (-0.75, (-3 * 2**29, 0)),
        (2.0**-32, (2**30, -31)),
        (2.0**-33, (0, 0)),
        (2.0**40, (INT32_MAX, 30)),
    ],
)
def test_quantize_multiplier_at_the_ends(factor: float, expected: tuple[int, int]) -> None:
    assert quantize_multiplier(factor) == expected


@given(st.floats(-1e12, 1e12))
def test_round_half_away(x: float) -> None:
    assert round_half_away(x) == scalar_round_half_away(Fraction(x))


def test_round_half_away_does_not_round_twice() -> None:
    assert round_half_away(0.49999999999999994) == 0
    assert [round_half_away(x) for x in (0.5, -0.5, 2.5, -2.5)] == [1, -1, 3, -3]


def test_wrap_int32() -> None:
    x = np.asarray([2**31, -(2**31) - 1, 2**32, 5], np.int64)
    assert wrap_int32(x).tolist() == [INT32_MIN, INT32_MAX, 0, 5]


def output(scale: float, zero_point: int) -> Tensor:
    return Tensor("y", (1,), DType.INT8, Quantization((scale,), (zero_point,)))


@pytest.mark.parametrize(
    ("activation", "scale", "zero_point", "expected"),
    [
        (Activation.NONE, 0.1, 3, (-128, 127)),
        (Activation.RELU, 0.1, 3, (3, 127)),
        (Activation.RELU, 0.1, -128, (-128, 127)),
        (Activation.RELU6, 0.1, -3, (-3, 57)),
        (Activation.RELU6, 0.01, -3, (-3, 127)),
        (Activation.RELU_N1_TO_1, 0.1, 3, (-7, 13)),
        (Activation.RELU_N1_TO_1, 0.4, 0, (-3, 3)),
        (Activation.RELU6, 1e-44, 0, (0, 127)),
    ],
)
def test_activation_range(
    activation: Activation, scale: float, zero_point: int, expected: tuple[int, int]
) -> None:
    assert activation_range(activation.bounds, output(scale, zero_point)) == expected


C_PROGRAM = """
#include <stdint.h>
#include <stdio.h>

{{ header }}

int main(void)
{
    int32_t value[3];

    while (fread(value, sizeof value, 1, stdin) == 1) {
        const int32_t result[2] = {
            uhost_multiply_by_quantized_multiplier(value[0], value[1], value[2]),
            uhost_clamp(value[0], -128, 127),
        };
        if (fwrite(result, sizeof result, 1, stdout) != 1) {
            return 1;
        }
    }
    return 0;
}
"""


@pytest.mark.needs("host_cc")
def test_the_c_of_the_firmware_computes_the_same(tmp_path: Path) -> None:
    """Run with the undefined-behaviour sanitizer, which turns a bad shift into an abort."""
    header = render("kernels/include/requantize.h.j2", {})
    source = tmp_path / "requantize.c"
    source.write_text(C_PROGRAM.replace("{{ header }}", header))
    program = tmp_path / "requantize"
    flags = "-std=c11 -O1 -Wall -Wextra -Werror -fsanitize=undefined -fno-sanitize-recover"
    subprocess.run(["cc", *flags.split(), str(source), "-o", str(program)], check=True)
    rng = np.random.default_rng(20)
    count = 200_000
    values = np.stack(
        [
            rng.integers(INT32_MIN, INT32_MAX + 1, count) >> rng.integers(0, 31, count),
            rng.integers(2**30, 2**31, count) * rng.choice([-1, 0, 1, 1, 1], count),
            rng.integers(-40, 31, count),
        ],
        axis=1,
    )
    grid = np.stack(np.meshgrid(EDGES, [0, 2**30, INT32_MAX], range(-40, 31)), -1).reshape(-1, 3)
    vectors = np.concatenate([values, grid]).astype(np.int32)
    done = subprocess.run([program], input=vectors.tobytes(), capture_output=True, check=True)
    results = np.frombuffer(done.stdout, np.int32).reshape(-1, 2)
    expected = multiply_by_quantized_multiplier(vectors[:, 0], vectors[:, 1], vectors[:, 2])
    np.testing.assert_array_equal(results[:, 0], expected)
    np.testing.assert_array_equal(results[:, 1], np.clip(vectors[:, 0], -128, 127))
