"""Output channels of an int8 layer in the form the SIMD kernels requantise.

A channel's exact sum x, folded bias included, becomes

    (SMMLAR(2x, multiplier, addend) - (x < 0)) >> shift

with addend = 2^(shift - 1) + zero_point · 2^shift. SMMLAR's rounded high half of
2x · multiplier is the saturating rounding doubling high multiply where 2x fits 32 bits;
subtracting 1 for negative x makes the shift round half away from zero. The sign of x may
stand for that of the product: they differ only where x < 0 and the product is 0, and
(2^(shift - 1) - 1) >> shift is 0 as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._quantize import channel_bias, channel_weights, conv_requantization
from uhost.numerics.fixed_point import activation_range, multiply_by_quantized_multiplier
from uhost.numerics.requantization import RectifiedForm, Staircase, rectified_form

Integers = NDArray[np.int64]

SUM_LIMIT = 1 << 30
"""Sums below this in size can be doubled in 32 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Channels:
    """Weights (channels, K), folded biases, requantisation, and what the sums can reach.

    A channel whose output is the same for every input has zero weights and bias, multiplier
    0, shift 1 and that output in its addend.
    """

    weights: Integers
    bias: Integers
    multipliers: Integers
    addends: Integers
    shifts: Integers
    lowest_sum: Integers
    highest_sum: Integers
    zero_point: int
    clamp: tuple[int, int]

    @property
    def reach(self) -> Integers:
        """The largest absolute value of each channel's sum."""
        return np.maximum(np.abs(self.lowest_sum), np.abs(self.highest_sum))

    def rectified(self, left_shifts: Integers) -> RectifiedForm | None:
        """Returns the layer's two-instruction form, or None if it has none.

        `left_shifts` are the bits by which the kernel's sums of each channel are shifted.
        """
        form = rectified_form(
            Staircase(
                self.multipliers,
                self.shifts,
                self.zero_point,
                *self.clamp,
                self.lowest_sum,
                self.highest_sum,
            ),
            left_shifts,
        )
        if form is None:
            return None
        constant = (self.multipliers == 0) & (self.lowest_sum == self.highest_sum)
        outputs = self.addends >> self.shifts
        addends = np.where(constant, outputs << (form.shift + left_shifts), form.addends)
        return replace(form, addends=addends)

    def why_inexact(self) -> str:
        """Returns "" if the form above is exact for every input, or the reason it may not be."""
        if (self.reach >= SUM_LIMIT).any():
            return "sums that reach 2^30"
        if (self.shifts < 1).any():
            return "an output factor of 0.5 or more"
        # The product is at most the sum in size; one more for its rounding.
        if (self.shifts > 31).any() or (np.abs(self.addends) + self.reach + 1 >= 2**31).any():
            return "an output factor too small for its sums"
        return ""


def why_not_int8(bound: BoundOperator[Any]) -> str:
    """Returns "" for a layer of int8 activations and weights, or the reason."""
    for what, tensor in (("input", bound.input(0)), ("weights", bound.input(1))):
        if tensor.dtype is not DType.INT8:
            return f"{tensor.dtype} {what}"
    return ""


def why_not_bytes(channels: Channels) -> str:
    """Returns "" if int8 holds the weights less their zero point, or the reason."""
    if (channels.weights < -128).any() or (channels.weights > 127).any():
        return "weights that less their zero point take nine bits"
    return ""


def spare_bits(channels: Channels) -> int:
    """Returns by how many bits weights may be shifted in halfwords, before their sums are."""
    return 6 if why_not_bytes(channels) else 8


def clamp_range(bound: BoundOperator[Any]) -> tuple[int, int]:
    """Returns the lowest and the highest output the activation lets through."""
    return activation_range(bound.attributes.activation.bounds, bound.output)


def fold(
    bound: BoundOperator[Any], *, keep_constant: bool = False, taps: Integers | None = None
) -> Channels:
    """Returns the output channels of an int8 layer, or of those of its outputs that read `taps`.

    The input's zero point goes into the biases. Channels that cannot change are made
    constant, unless `keep_constant`; elements of padding count as inputs that may have any value.
    """
    factors = conv_requantization(bound)
    taps = channel_weights(bound) if taps is None else taps
    bias = channel_bias(bound) - bound.input(0).zero_point * taps.sum(1)
    positive, negative = np.maximum(taps, 0).sum(1), np.minimum(taps, 0).sum(1)
    lowest = bias - 128 * positive + 127 * negative
    highest = bias + 127 * positive - 128 * negative

    multipliers = factors.multipliers.astype(np.int64)
    shifts = -factors.shifts.astype(np.int64)
    zero_point = bound.output.zero_point
    low, high = clamp_range(bound)

    def outputs(sums: Integers) -> Integers:
        scaled = multiply_by_quantized_multiplier(sums, multipliers, -shifts)
        return np.clip(scaled + zero_point, low, high)

    # The output grows with the sum as long as nothing wraps, the left shift included.
    limit = np.int64(2**31) >> np.maximum(-shifts, 0)
    monotonic = (multipliers >= 0) & (lowest > -limit) & (highest < limit)
    value = outputs(np.where(monotonic, lowest, 0))
    constant = monotonic & (value == outputs(np.where(monotonic, highest, 0)))
    if keep_constant:
        constant = np.zeros_like(constant)

    # A shift that the form cannot take is refused later; keep the arithmetic defined.
    divisor = np.int64(1) << np.clip(shifts, 1, 40)
    return Channels(
        weights=np.where(constant[:, None], 0, taps),
        bias=np.where(constant, 0, bias),
        multipliers=np.where(constant, 0, multipliers),
        addends=np.where(constant, 2 * value, divisor // 2 + zero_point * divisor),
        shifts=np.where(constant, 1, shifts),
        lowest_sum=np.where(constant, 0, lowest),
        highest_sum=np.where(constant, 0, highest),
        zero_point=zero_point,
        clamp=(low, high),
    )
