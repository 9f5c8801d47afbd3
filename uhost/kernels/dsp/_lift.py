"""Weights that int8 does not hold, as weights it does hold and the sum of the inputs.

Weights less their zero point need nine bits. With w = v - z for a z of each output channel, the
sum of x · w is that of x · v, less z times the sum of x. So the sum of x becomes one more input,
and -z its weight: the products stay as they are. An input is a halfword; a sum of 256 int8
inputs fits that, so that a column gets one sum per 128 pairs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from uhost.kernels.dsp._channels import Channels, Integers

ABSENT = -1
"""Stands for the missing half of a K pair; its weight is zero."""

Pairs = list[tuple[int, int]]

_PAIRS_PER_SUM = 128


def widest(weights: Integers) -> Integers:
    """Returns the lowest weight that each channel may have: halfwords are 256 * odd + even."""
    return np.where(np.arange(len(weights)) % 2, -127, -128)


def needs_lift(weights: Integers) -> bool:
    """True if some pair of channels has weights whose 256 * second + first fits no halfword."""
    if (weights < -128).any() or (weights > 127).any():
        return True
    missing = len(weights) % 2
    even = np.pad(weights, ((0, missing), (0, 0)))
    return bool((256 * even[1::2] + even[0::2] < -(2**15)).any())


def _lifts(weights: Integers) -> tuple[Integers, Integers]:
    """Returns the least lift of each channel, and whether it makes the channel fit."""
    lowest = widest(weights)
    least, most = lowest - weights.min(axis=1), 127 - weights.max(axis=1)
    lifts = np.where(least > 0, least, np.minimum(most, 0))
    return lifts, (least <= most) & (-lifts >= lowest) & (-lifts <= 127)


def why_not_lifted(weights: Integers) -> str:
    """Returns "" if the channels fit as they are or lifted, or the reason."""
    if not needs_lift(weights) or _lifts(weights)[1].all():
        return ""
    return "weights of a channel that are more than 254 apart"


def lifted(channels: Channels, pairs: Pairs, *, even: bool) -> tuple[Channels, Pairs, int]:
    """Returns channels and pairs with sums of the inputs, and the pairs that are summed.

    As they were, and 0, where all weights fit. `even` adds a pair of nothing to an odd count.
    """
    if not needs_lift(channels.weights):
        return channels, pairs, 0
    lifts, _ = _lifts(channels.weights)
    taps = channels.weights.shape[1]
    own = [pair for pair in pairs if pair != (ABSENT, ABSENT)]
    sums = [taps + i for i in range(-(-len(own) // _PAIRS_PER_SUM))]
    halves = sums + [ABSENT] * (len(sums) % 2)
    added = list(zip(halves[0::2], halves[1::2], strict=True))
    added += [(ABSENT, ABSENT)] * (even and (len(own) + len(added)) % 2)
    weights = np.hstack([channels.weights + lifts[:, None], -np.tile(lifts, (len(sums), 1)).T])
    return replace(channels, weights=weights), own + added, len(own)
