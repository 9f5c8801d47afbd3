"""Interval analysis: the values each channel of an int8 tensor can take, for every input.

A channel is an index of the last axis. The intervals are sound: whatever the model's
input, no value lies outside. They need not be tight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    activation_range,
    multiply_by_quantized_multiplier,
)
from uhost.ops._weighted import conv_requantization

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """The lowest and the highest value of every channel, both included."""

    low: Integers
    high: Integers

    @property
    def is_constant(self) -> NDArray[np.bool_]:
        """True for the channels that have one value."""
        constant: NDArray[np.bool_] = self.low == self.high
        return constant

    def including(self, value: int) -> Interval:
        """Returns the interval with `value` in it."""
        return Interval(np.minimum(self.low, value), np.maximum(self.high, value))

    def clipped(self, low: int, high: int) -> Interval:
        """Returns the interval of the values clamped to [low, high]."""
        return Interval(np.clip(self.low, low, high), np.clip(self.high, low, high))


def whole(tensor: Tensor) -> Interval:
    """Returns the interval of a tensor of which only type and constant values are known."""
    channels = tensor.shape[-1] if tensor.shape else 1
    if tensor.values is not None:
        rows = tensor.values.reshape(-1, channels).astype(np.int64)
        return Interval(rows.min(0), rows.max(0))
    low, high = tensor.dtype.limits
    return Interval(np.full(channels, low), np.full(channels, high))


def elementwise(
    reference: Callable[[BoundOperator[Any], Sequence[Array | None]], Sequence[Array]],
) -> Callable[[BoundOperator[Any], Sequence[Interval]], Interval]:
    """Returns the interval rule of an operator that grows with each of its inputs' elements."""

    def rule(bound: BoundOperator[Any], inputs: Sequence[Interval]) -> Interval:
        types = [tensor.dtype.numpy for tensor in bound.inputs if tensor is not None]
        lows = [one.low.astype(t) for one, t in zip(inputs, types, strict=True)]
        highs = [one.high.astype(t) for one, t in zip(inputs, types, strict=True)]
        [low], [high] = reference(bound, lows), reference(bound, highs)
        return Interval(low.astype(np.int64), high.astype(np.int64))

    return rule


def weighted(bound: BoundOperator[Any], terms: Integers, x: Interval, *, padded: bool) -> Interval:
    """Returns the interval of a weighted layer's output.

    `terms` holds a weight per (output channel, tap); `x` the interval of each such
    term's input. Where the window is `padded`, any term may also be left out.
    """
    zero_point = bound.input(0).zero_point
    low, high = x.low - zero_point, x.high - zero_point
    if padded:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    lowest = np.minimum(terms * low, terms * high).sum(1)
    highest = np.maximum(terms * low, terms * high).sum(1)
    bias = bound.optional_input(2)
    if bias is not None:
        values = bias.constant().astype(np.int64).reshape(-1)
        lowest, highest = lowest + values, highest + values
    factors = conv_requantization(bound)
    shifts = factors.shifts.astype(np.int64)
    clamp = activation_range(bound.attributes.activation.bounds, bound.output)

    def outputs(sums: Integers) -> Integers:
        scaled = multiply_by_quantized_multiplier(sums, factors.multipliers, shifts)
        return np.clip(scaled + bound.output.zero_point, *clamp)

    # The output grows with the sum as long as neither it nor its left shift wraps.
    room = np.maximum(shifts, 0)
    sound = (lowest >= INT32_MIN >> room) & (highest <= INT32_MAX >> room)
    sound &= factors.multipliers >= 0
    return Interval(
        np.where(sound, outputs(np.where(sound, lowest, 0)), clamp[0]),
        np.where(sound, outputs(np.where(sound, highest, 0)), clamp[1]),
    )
