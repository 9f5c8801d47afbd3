"""Layers of several products: the channels of each part, with one form of requantisation for all.

A part is what one stream of half-widened weights makes: a phase of a transposed convolution, or a
group of a grouped one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.kernels.dsp._channels import Channels
from uhost.kernels.dsp._lift import Pairs, lifted
from uhost.kernels.dsp._product import Ends, ends_of, pack


def completed(channels: Channels) -> Channels:
    """Returns the channels and constant ones behind them, up to a multiple of four."""
    missing = -len(channels.bias) % 4
    rows = ((0, missing), (0, 0))
    return Channels(
        np.pad(channels.weights, rows),
        np.pad(channels.bias, (0, missing)),
        np.pad(channels.multipliers, (0, missing)),
        np.pad(channels.addends, (0, missing)),
        np.pad(channels.shifts, (0, missing), constant_values=1),
        np.pad(channels.lowest_sum, (0, missing)),
        np.pad(channels.highest_sum, (0, missing)),
        channels.zero_point,
        channels.clamp,
    )


def part_of(channels: Channels, own: slice) -> Channels:
    """Returns some of the channels, completed to a multiple of four."""
    return completed(
        Channels(
            channels.weights[own],
            channels.bias[own],
            channels.multipliers[own],
            channels.addends[own],
            channels.shifts[own],
            channels.lowest_sum[own],
            channels.highest_sum[own],
            channels.zero_point,
            channels.clamp,
        )
    )


def stacked(parts: Sequence[Channels]) -> Channels:
    """Returns the channels of all parts after one another, those with fewer taps filled up.

    Taps of zero weight change neither sums nor what they can reach.
    """
    most = max(part.weights.shape[1] for part in parts)
    return Channels(
        np.vstack([np.pad(p.weights, ((0, 0), (0, most - p.weights.shape[1]))) for p in parts]),
        np.concatenate([part.bias for part in parts]),
        np.concatenate([part.multipliers for part in parts]),
        np.concatenate([part.addends for part in parts]),
        np.concatenate([part.shifts for part in parts]),
        np.concatenate([part.lowest_sum for part in parts]),
        np.concatenate([part.highest_sum for part in parts]),
        parts[0].zero_point,
        parts[0].clamp,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The weights of one part: words, K pairs of a column, those summed, words per four channels.

    `shift` is that of the layer, 0 for the general form.
    """

    words: NDArray[np.uint32]
    pairs: int
    summed: int
    group_words: int
    shift: int


def streams_of(parts: Sequence[Channels], columns: Sequence[Pairs], *, even: bool) -> list[Stream]:
    """Returns the streams of completed parts, of which each reads columns of its own pairs.

    They have one form of requantisation, so that one routine multiplies all of them.
    """
    ends, found = ends_of(stacked(parts)), []
    for number, (part, pairs) in enumerate(zip(parts, columns, strict=True)):
        channels, own_pairs, summed = lifted(part, pairs, even=even)
        count = len(part.bias)
        first = sum(len(other.bias) for other in parts[:number])
        own = slice(first, first + count)
        words = pack(channels, own_pairs, Ends(ends.words[own], ends.bias[own], ends.shift))
        group_words = len(words) // (count // 4)
        found.append(Stream(words, len(own_pairs), summed, group_words, ends.shift))
    return found
