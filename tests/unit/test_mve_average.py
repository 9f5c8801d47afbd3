"""The division of the Helium average pool: right for every sum of as many pixels as it takes."""

from __future__ import annotations

import numpy as np
import pytest

from uhost.kernels.mve.average_pool_2d import MOST_PIXELS
from uhost.numerics.fixed_point import saturating_rounding_doubling_high_multiply

COUNTS = (1, 2, 3, 4, 7, 9, 16, 49, 125, 255, 256, 257, 1023, 1024, 1999, MOST_PIXELS)


@pytest.mark.parametrize("pixels", COUNTS)
def test_every_sum_is_divided_right(pixels: int) -> None:
    sums = np.arange(-128 * pixels, 127 * pixels + 1, dtype=np.int64)
    magnitudes = (np.abs(sums) + pixels // 2) // pixels
    quotients = saturating_rounding_doubling_high_multiply(2 * sums, (1 << 30) // pixels + 1)
    assert np.array_equal(quotients, np.where(sums < 0, -magnitudes, magnitudes))


def test_the_argument_ends_where_the_kernel_says() -> None:
    assert 256 * MOST_PIXELS**2 < 2**30 <= 256 * (MOST_PIXELS + 1) ** 2
