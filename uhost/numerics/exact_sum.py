"""Sums of quantised numbers of one scale, requantised as TFLite Micro's ADD_N and CUMSUM do.

There each number is shifted left by 20 bits and halved, and the sum in 32 bits is scaled by
2 s_in / (2^20 s_out) with two roundings. The halving is exact, so the sum of the plain numbers
times 2^19 is the same, and its product with the multiplier needs no more than 64 bits: what
overflows there after some 16 numbers is right here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import quantize_multiplier, rounding_divide_by_power_of_two

_LEFT_SHIFT = 20
PRODUCT_SHIFT = 31 - (_LEFT_SHIFT - 1)
"""Bits by which the first rounding shifts the product of sum and multiplier to the right."""


def sum_scaling(scale: float, output_scale: float) -> tuple[int, int]:
    """Returns (multiplier, bits of the second shift, to the right) of the factor to the output."""
    factor = 2.0 * scale / ((1 << _LEFT_SHIFT) * output_scale)
    multiplier, shift = quantize_multiplier(factor)
    return multiplier, -shift


def scale_sum(total: Array, multiplier: int, right_shift: int) -> NDArray[np.int64]:
    """Returns the sum of numbers without their zero point in units of the output's scale.

    |total| is below 2^31.
    """
    product = np.asarray(total, np.int64) * multiplier
    high = (product + (1 << (PRODUCT_SHIFT - 1))) >> PRODUCT_SHIFT
    return rounding_divide_by_power_of_two(high, right_shift)
