"""ADD of two int8 tensors as one linear form, proven over all 65,536 pairs of inputs.

The reference scales each input, adds, and scales the sum, rounding each time. For most
scales some integers A, B, C and S give the same output for every pair (a, b):

    clamp((A·a + B·b + C) >> S)

A and B are the ratios of scales in units of 2^-S. A pair whose output is strictly within
the clamp bounds C from both sides, one whose output is at an end from the other side only;
any C that all pairs allow will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.numerics.fixed_point import activation_range, multiply_by_quantized_multiplier
from uhost.ops.add import INPUT_LEFT_SHIFT, AddAttributes, add_scaling

_SHIFTS = range(24, 16, -1)
"""The shift is one of 16 and one of 1 to 8 bits."""
_NUDGES = (0, -1, 1, -2, 2)
_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True)
class Linear:
    """The coefficients, and the ends of the clamp."""

    first: int
    second: int
    constant: int
    shift: int
    lowest: int
    highest: int


def linear_form(bound: BoundOperator[AddAttributes]) -> Linear | None:
    """Returns a form that is exact for every pair of int8 inputs; None if none was found."""
    lowest, highest = activation_range(bound.attributes.activation.bounds, bound.output)
    if lowest > highest:
        return None
    wanted = np.clip(_unclamped(bound), lowest, highest)
    values = np.arange(-128, 128, dtype=np.int64)
    for shift, first, second in _candidates(bound):
        terms = first * values[:, None] + second * values
        unit = np.int64(1) << shift
        # The least and the greatest constant that put a pair into the unit of its output.
        least = wanted * unit - terms
        greatest = least + unit - 1
        low = int(np.max(least, where=wanted > lowest, initial=-_LIMIT))
        high = int(np.min(greatest, where=wanted < highest, initial=_LIMIT))
        constant = (low + high) // 2
        if low <= high and int(np.abs(terms).max()) + abs(constant) + int(unit) < _LIMIT:
            return Linear(first, second, constant, shift, lowest, highest)
    return None


def _unclamped(bound: BoundOperator[AddAttributes]) -> NDArray[np.int64]:
    """Returns the reference's output before the clamp for all pairs of inputs."""
    scaling = add_scaling(bound)
    values = np.arange(-128, 128, dtype=np.int64)
    first, second = (
        multiply_by_quantized_multiplier(
            (values - bound.input(index).zero_point) << INPUT_LEFT_SHIFT, *factor
        )
        for index, factor in enumerate((scaling.first, scaling.second))
    )
    total = first[:, None] + second
    return multiply_by_quantized_multiplier(total, *scaling.output) + bound.output.zero_point


def _candidates(bound: BoundOperator[AddAttributes]) -> Iterator[tuple[int, int, int]]:
    """Yields (shift, first, second) coefficients, the finest and nearest ones first."""
    ratios = [bound.input(index).scale / bound.output.scale for index in range(2)]
    for shift in _SHIFTS:
        first, second = (round(ratio * 2**shift) for ratio in ratios)
        if 128 * (first + second) < _LIMIT // 2:
            for nudge in product(_NUDGES, repeat=2):
                yield shift, first + nudge[0], second + nudge[1]
