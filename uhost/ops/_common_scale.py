"""Two quantised inputs at a common scale: what SUB, SQUARED_DIFFERENCE and their kin share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier


@dataclass(frozen=True, slots=True)
class CommonScale:
    """Bits that inputs are shifted left by, then multipliers and shifts.

    Both inputs are taken to twice the larger scale; `output` takes the result from there,
    2^`power` of its unit for an operator of degree `power`.
    """

    left_shift: int
    first: tuple[int, int]
    second: tuple[int, int]
    output: tuple[int, int]


def common_scale(bound: BoundOperator[Any], left_shift: int, power: int = 1) -> CommonScale:
    """Returns the scaling of an operator of degree `power`, every factor formed in double."""
    first, second, output = bound.input(0).scale, bound.input(1).scale, bound.output.scale
    twice_larger = 2.0 * max(first, second)
    unit = float(1 << (left_shift * power))
    return CommonScale(
        left_shift,
        quantize_multiplier(first / twice_larger),
        quantize_multiplier(second / twice_larger),
        quantize_multiplier(twice_larger**power / (unit * output)),
    )


def at_common_scale(
    bound: BoundOperator[Any], scaling: CommonScale, first: Array, second: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns both inputs at the common scale."""

    def scaled(index: int, values: Array, factor: tuple[int, int]) -> NDArray[np.int64]:
        offset = (values.astype(np.int64) - bound.input(index).zero_point) << scaling.left_shift
        return multiply_by_quantized_multiplier(offset, *factor)

    return scaled(0, first, scaling.first), scaled(1, second, scaling.second)
