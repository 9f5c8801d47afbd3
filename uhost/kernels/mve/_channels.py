"""Output channels of an int8 layer in the form the vector kernels requantise.

A channel's exact sum x, folded bias included, becomes

    VRSHL(y - (y < 0), shift) + zero_point,  y = VQRDMULH(x, multiplier)

with a negative shift. VQRDMULH is the saturating rounding doubling high multiply; VRSHL by
a negative count rounds ties upward, and subtracting 1 from what is negative makes that half
away from zero. Where outputs are clamped to the zero point or above, the subtraction is
left out: what is negative is clamped to the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._quantize import channel_bias, channel_weights, conv_requantization
from uhost.numerics.fixed_point import activation_range

Integers = NDArray[np.int64]

_SUM_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class Channels:
    """Weights (channels, K), folded biases, requantisation, and what the sums can reach.

    Shifts are to the left, so negative. `positive` says that no output is below the zero
    point; `lowest` and `highest` are the activation's clamp.
    """

    weights: Integers
    bias: Integers
    multipliers: Integers
    shifts: Integers
    reach: Integers
    zero_point: int
    lowest: int
    highest: int

    @property
    def positive(self) -> bool:
        """True if outputs below the zero point are clamped."""
        return self.lowest >= self.zero_point

    @property
    def clamped(self) -> bool:
        """True if the clamp is narrower than int8."""
        return (self.lowest, self.highest) != (-128, 127)

    def why_inexact(self) -> str:
        """Returns "" if the form above is exact for every input, or the reason it may not be."""
        if (self.reach >= _SUM_LIMIT).any():
            return "sums that reach 2^31"
        if (self.shifts > -1).any():
            return "an output factor of 0.5 or more"
        if (self.shifts < -31).any():
            return "an output factor below 2^-32"
        return ""


def why_not_int8(bound: BoundOperator[Any]) -> str:
    """Returns "" for an int8 layer with constant weights without a zero point, or the reason."""
    if bound.input(0).dtype is not DType.INT8:
        return f"{bound.input(0).dtype} input"
    quantization = bound.input(1).quantization
    if quantization is None or any(quantization.zero_point):
        return "weights with a zero point"
    return ""


def fold(bound: BoundOperator[Any]) -> Channels:
    """Returns the output channels of an int8 layer, the input's zero point in the biases.

    Elements of padding count as inputs that may have any value.
    """
    factors = conv_requantization(bound)
    taps = channel_weights(bound)
    bias = channel_bias(bound) - bound.input(0).zero_point * taps.sum(1)
    multipliers = factors.multipliers.astype(np.int64)
    shifts = factors.shifts.astype(np.int64)
    low, high = activation_range(bound.attributes.activation.bounds, bound.output)
    return Channels(
        weights=taps,
        bias=bias,
        multipliers=multipliers,
        # Whatever is shifted there is zero.
        shifts=np.where(multipliers == 0, -1, shifts),
        reach=np.abs(bias) + 128 * np.abs(taps).sum(1),
        zero_point=bound.output.zero_point,
        lowest=low,
        highest=high,
    )
