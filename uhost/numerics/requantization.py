"""Requantisation of rectified layers by one multiply and one saturating shift.

The reference scales a sum x by m · 2^(-31 - r), rounding twice, adds the output's zero
point z and clamps to [low, high]:

    f(x) = clamp(z + rounded(rounded(x · m / 2^31) / 2^r))

Armv7E-M has SMMLA, the high word of a product plus an addend, and SSAT, which shifts
right and saturates. So a kernel would rather compute

    g(x) = ssat8((a + ((x + c) · 2^j · M >> 32)) >> (S + j))

with M, a and c per channel, one S per layer, and j the bits by which the kernel's sums
are shifted left already.

Why g can equal f. Both grow with x, so over the sums that a channel can reach each is a
staircase, and staircases are equal if they reach every value k at the same sum T(k):
g(T(k)) >= k and g(T(k) - 1) < k. The constants in g together are C = a·2^32 + c·2^j·M, so
for a given M this says

    k·2^(32+S+j) - T(k)·2^j·M  <=  C  <  k·2^(32+S+j) - (T(k) - 1)·2^j·M

for every k, and any C from the largest left side up to the smallest right side is exact.
M stems from rounding m, but these inequalities of integers decide whether it serves.

T(k) has a closed form if z <= low, as a fused ReLU has it: every k above `low` then needs
a positive product, and positive numbers round half up, twice. Below z, ties would go
the other way and one C could not serve both sides; such layers keep the general form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from uhost.numerics.fixed_point import multiply_by_quantized_multiplier
from uhost.solutions import remembered

Integers = NDArray[np.int64]

_SHIFTS = (14, 12, 10, 8, 6, 4, 2, 1)
"""Values of S: few, as layers of equal S share code.

With j up to 8, every term of the inequalities fits 64 bits.
"""

_SHIFTS_TRIED = 3
_SUM_LIMIT = 1 << 30
_MULTIPLIER_CHANGES = (0, 1, -1, 2, -2, 3, -3, 5, -5, 9, -9, 17, -17, 33, -33, 65, -65)
_LARGEST_BIAS_CHANGES = (0, 64, 4096, 65536)


@dataclass(frozen=True, slots=True, eq=False)
class Staircase:
    """The f of every channel: factors, output range, and the sums it can reach, both ends.

    `right_shifts` are r, `low` and `high` the clamp within int8.
    """

    multipliers: Integers
    right_shifts: Integers
    zero_point: int
    low: int
    high: int
    lowest_sums: Integers
    highest_sums: Integers

    def of(self, channels: NDArray[np.intp]) -> Staircase:
        """Returns these channels alone."""
        return replace(
            self,
            multipliers=self.multipliers[channels],
            right_shifts=self.right_shifts[channels],
            lowest_sums=self.lowest_sums[channels],
            highest_sums=self.highest_sums[channels],
        )

    def values(self, sums: Integers) -> Integers:
        """Returns f of one sum per channel."""
        scaled = multiply_by_quantized_multiplier(sums, self.multipliers, -self.right_shifts)
        return np.clip(scaled + self.zero_point, self.low, self.high)


@dataclass(frozen=True, slots=True, eq=False)
class RectifiedForm:
    """The M, a and c of every channel and the S of the layer, with g = f for every sum.

    Neither (x + c) · 2^j nor what SMMLA returns leaves 32 bits.
    """

    multipliers: Integers
    addends: Integers
    bias_changes: Integers
    shift: int


@dataclass(frozen=True, slots=True)
class _Numbers:
    """A `RectifiedForm` as it is stored: arrays as their bytes."""

    multipliers: bytes
    addends: bytes
    bias_changes: bytes
    shift: int


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """Sums at which an output has to be reached (`at_least`) or not yet (`below`), and outputs.

    All are (channel, step); a step that a channel does not have repeats one that it has.
    """

    at_least: tuple[Integers, Integers]
    below: tuple[Integers, Integers]

    def of(self, channels: NDArray[np.intp]) -> _Steps:
        at_least = (self.at_least[0][channels], self.at_least[1][channels])
        return _Steps(at_least, (self.below[0][channels], self.below[1][channels]))


def rectified_form(stairs: Staircase, left_shifts: Integers) -> RectifiedForm | None:
    """Returns a g that equals f on every channel, or None if the search finds none.

    `left_shifts` is the j of every channel, 0 to 8. The largest S serves best, as M then
    has the most bits; a few smaller ones are tried as well. Answers are remembered.
    """
    if stairs.zero_point > stairs.low or (stairs.multipliers < 0).any():
        return None
    arrays = (
        stairs.multipliers,
        stairs.right_shifts,
        stairs.lowest_sums,
        stairs.highest_sums,
        left_shifts,
    )
    question = (
        (stairs.zero_point, stairs.low, stairs.high),
        [np.ascontiguousarray(one, np.int64).tobytes() for one in arrays],
    )

    def solve() -> _Numbers | None:
        form = _searched(stairs, left_shifts)
        if form is None:
            return None
        columns = (form.multipliers, form.addends, form.bias_changes)
        multipliers, addends, changes = (one.astype("<i8").tobytes() for one in columns)
        return _Numbers(multipliers, addends, changes, form.shift)

    found = remembered(rectified_form, question, _Numbers | None, solve)
    if found is None:
        return None
    stored = (found.multipliers, found.addends, found.bias_changes)
    multipliers, addends, changes = (np.frombuffer(one, "<i8").astype(np.int64) for one in stored)
    return RectifiedForm(multipliers, addends, changes, found.shift)


def _searched(stairs: Staircase, left_shifts: Integers) -> RectifiedForm | None:
    """Returns what `rectified_form` promises, by the search."""
    reach = np.maximum(np.abs(stairs.lowest_sums), np.abs(stairs.highest_sums))
    if (reach << left_shifts >= _SUM_LIMIT).any():
        return None
    first, last = stairs.values(stairs.lowest_sums), stairs.values(stairs.highest_sums)
    changing = np.flatnonzero(first != last)
    # M = m · 2^(S + 1 - r) has to stay below 2^31.
    largest = int(stairs.right_shifts[changing].min(initial=_SHIFTS[0] + 1)) - 1
    steps = _steps(stairs.of(changing), first[changing], last[changing])
    for shift in [shift for shift in _SHIFTS if shift <= largest][:_SHIFTS_TRIED]:
        form = RectifiedForm(
            multipliers=np.zeros_like(first),
            addends=first << (shift + left_shifts),
            bias_changes=np.zeros_like(first),
            shift=shift,
        )
        if _solve(form, stairs, steps, changing, left_shifts, reach):
            return form
    return None


def _steps(stairs: Staircase, first: Integers, last: Integers) -> _Steps:
    """Returns T(k) for every k from `first` + 1 to `last`, and what holds at both ends.

    All channels change: first < last.
    """
    levels = np.arange(stairs.low + 1, stairs.high + 1, dtype=np.int64)
    has_step = (levels > first[:, None]) & (levels <= last[:, None])
    level = np.where(has_step, levels, last[:, None])
    # The least product that the second rounding takes to a level, and then the least sum
    # that the first one takes to that product.
    exponent = stairs.right_shifts[:, None]
    product = (level - stairs.zero_point << exponent) - (1 << exponent >> 1)
    threshold = -(-((product << 31) - (1 << 30)) // stairs.multipliers[:, None])

    # Unless they are clamped, the lowest sum must reach its output and the highest not pass it.
    starts_inside, ends_inside = (first > stairs.low)[:, None], (last < stairs.high)[:, None]
    ends = (
        np.where(starts_inside, stairs.lowest_sums[:, None], threshold[:, -1:]),
        np.where(starts_inside, first[:, None], last[:, None]),
        np.where(ends_inside, stairs.highest_sums[:, None], threshold[:, -1:] - 1),
        np.where(ends_inside, last[:, None] + 1, last[:, None]),
    )
    return _Steps(
        at_least=(np.hstack([threshold, ends[0]]), np.hstack([level, ends[1]])),
        below=(np.hstack([threshold - 1, ends[2]]), np.hstack([level, ends[3]])),
    )


def _solve(
    form: RectifiedForm,
    stairs: Staircase,
    steps: _Steps,
    channels: NDArray[np.intp],
    left_shifts: Integers,
    reach: Integers,
) -> bool:
    """Fills in the numbers of `channels`; returns whether it found them for each."""
    lost = stairs.right_shifts[channels] - 1 - form.shift
    rounded = (stairs.multipliers[channels] + ((1 << lost) >> 1)) >> lost
    for change in _MULTIPLIER_CHANGES:
        if channels.size == 0:
            return True
        factor = rounded + change
        bits, room = left_shifts[channels], _SUM_LIMIT - (reach << left_shifts)[channels]
        lowest, highest = _constants(steps, factor, bits, form.shift)
        usable = (factor > 0) & (factor < 1 << 31) & (lowest <= highest)
        solved = np.zeros(channels.size, bool)
        for largest in _LARGEST_BIAS_CHANGES:
            open_ = np.flatnonzero(usable & ~solved)
            if open_.size == 0:
                break
            found, addend, bias = _split(
                lowest[open_], highest[open_], factor[open_] << bits[open_], largest
            )
            found &= (np.abs(bias) << bits[open_] < room[open_]) & (np.abs(addend) < 1 << 30)
            chosen = channels[open_[found]]
            form.multipliers[chosen] = factor[open_[found]]
            form.addends[chosen] = addend[found]
            form.bias_changes[chosen] = bias[found]
            solved[open_[found]] = True
        steps, channels, rounded = (
            steps.of(np.flatnonzero(~solved)),
            channels[~solved],
            rounded[~solved],
        )
    return channels.size == 0


def _constants(
    steps: _Steps, factor: Integers, bits: Integers, shift: int
) -> tuple[Integers, Integers]:
    """Returns the least and the greatest C of every channel."""
    unit, scale = (np.int64(1) << (32 + shift + bits))[:, None], (factor << bits)[:, None]
    reached, unreached = steps.at_least, steps.below
    lowest = (reached[1] * unit - reached[0] * scale).max(axis=1)
    highest = (unreached[1] * unit - unreached[0] * scale).min(axis=1) - 1
    return lowest, highest


def _split(
    lowest: Integers, highest: Integers, scale: Integers, largest: int
) -> tuple[NDArray[np.bool_], Integers, Integers]:
    """Returns where a C is a·2^32 + c·scale with |c| <= largest, and its a and least c."""
    changes = np.arange(-largest, largest + 1, dtype=np.int64)
    changes = changes[np.argsort(np.abs(changes), kind="stable")]
    offset = changes * scale[:, None]
    addend = -((offset - lowest[:, None]) >> 32)
    fits = (addend << 32) + offset <= highest[:, None]
    best = fits.argmax(axis=1)
    rows = np.arange(len(scale))
    return fits[rows, best], addend[rows, best], changes[best]
