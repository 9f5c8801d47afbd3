"""Half-widened weights: the stream `uhost_dsp_product` reads, and the columns it multiplies.

The format is described in `templates/kernels/include/dsp_product.h.j2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import Overlap, over_pixels
from uhost.kernels.dsp._channels import Channels, Integers
from uhost.kernels.dsp._lift import ABSENT, Pairs, lifted, why_not_lifted

_PAIR_LIMIT = 1 << 23
"""256 times a sum below this in size fits 32 bits."""


def column_pairs(run: int, runs: int, *, even: bool) -> Pairs:
    """Returns the elements of each K pair of a column made of `runs` runs of `run` elements.

    The order is that of `uhost_dsp_widen`. `even` adds a pair of nothing to an odd count.
    """
    pairs: Pairs = []
    for start in range(0, run * runs, run):
        whole = run - run % 4
        for k in range(start, start + whole, 4):
            pairs += [(k, k + 2), (k + 1, k + 3)]
        for k in range(start + whole, start + run, 2):
            pairs.append((k, k + 1 if k + 1 < start + run else ABSENT))
    if even and len(pairs) % 2:
        pairs.append((ABSENT, ABSENT))
    return pairs


def why_inexact(channels: Channels) -> str:
    """Returns "" if half-widened weights give exact sums of these channels, or the reason."""
    reason = channels.why_inexact()
    if reason:
        return reason
    reason = why_not_lifted(channels.weights)
    if reason:
        return reason
    if (channels.reach[1::2] >= _PAIR_LIMIT).any():
        return "sums that reach 2^23"
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """How the sums of a layer become outputs: numbers per channel, and the layer's shift.

    `words` is (channel, word). `shift` is 0 for the general form, whose words are multiplier,
    addend and shift; of the rectified form they are multiplier and addend.
    """

    words: Integers
    bias: Integers
    shift: int


def ends_of(channels: Channels) -> Ends:
    """Returns the rectified form where the layer has one, and the general form otherwise."""
    # Sums of every second channel come out times 256.
    form = channels.rectified(np.arange(len(channels.bias)) % 2 * 8)
    if form is None:
        words = np.stack([channels.multipliers, channels.addends, channels.shifts], axis=1)
        return Ends(words, channels.bias, 0)
    words = np.stack([form.multipliers, form.addends], axis=1)
    return Ends(words, channels.bias + form.bias_changes, form.shift)


def pack(channels: Channels, pairs: Pairs, ends: Ends) -> NDArray[np.uint32]:
    """Returns the weight stream of all channels, padded with zeros to a multiple of four."""
    order = np.asarray(pairs)
    # One more column, of zeros: index -1 reads it.
    weights = _padded(np.pad(channels.weights, ((0, 0), (0, 1))))
    first, second = _channel_pairs(weights)
    halves = 256 * second + first
    words = (halves[:, order[:, 0]] & 0xFFFF) | (halves[:, order[:, 1]] & 0xFFFF) << 16
    bias_first, bias_second = _channel_pairs(_padded(ends.bias))
    starts = np.stack([bias_first, 256 * bias_second + bias_first], axis=1)
    groups = len(weights) // 4
    stream = np.concatenate(
        [
            starts.reshape(groups, 4),
            words.reshape(groups, 2, -1).transpose(0, 2, 1).reshape(groups, -1),
            _padded(ends.words).reshape(groups, -1),
        ],
        axis=1,
    )
    return (stream.reshape(-1) & 0xFFFFFFFF).astype(np.uint32)


def _padded(values: Integers) -> Integers:
    missing = -len(values) % 4
    return np.pad(values, ((0, missing), *[(0, 0)] * (values.ndim - 1)))


def _channel_pairs(values: Integers) -> tuple[Integers, Integers]:
    """Returns the even and the odd channels; an odd count is completed by a zero channel."""
    missing = len(values) % 2
    even = np.pad(values, ((0, missing), *[(0, 0)] * (values.ndim - 1)))
    return even[0::2], even[1::2]


def pointwise_call(template: str, bound: BoundOperator[Any], channels: Channels) -> KernelCall:
    """Returns the call for a layer whose every `K` inputs in a row give one pixel's outputs."""
    count, depth = channels.weights.shape
    pixels = bound.output.elements // count
    even = pixels % 2 == 1
    channels, pairs, summed = lifted(channels, column_pairs(depth, 1, even=even), even=even)
    return product_call(
        template,
        bound,
        channels,
        pairs,
        values={"pixels": pixels, "depth": depth, "aligned": depth % 8 == 0},
        summed=summed,
        scratch_bytes=column_bytes(pairs, pixels),
        overlap=over_pixels(pixels, depth, count),
    )


def column_bytes(pairs: Pairs, pixels: int) -> int:
    """Returns the bytes of the columns of two pixels, or of one if the layer has no more."""
    return 4 * len(pairs) * min(pixels, 2)


def product_call(
    template: str,
    bound: BoundOperator[Any],
    channels: Channels,
    pairs: Pairs,
    *,
    values: dict[str, Any],
    scratch_bytes: int,
    overlap: Overlap,
    summed: int = 0,
    includes: Sequence[str] = (),
) -> KernelCall:
    """Returns the call of a kernel built around `uhost_dsp_product`.

    `summed`: the pairs at the beginning of a column that have sums behind them.
    """
    ends = ends_of(channels)
    return tiled_call(
        template,
        {
            **values,
            "channels": len(channels.weights),
            "pairs": len(pairs),
            "group_words": 4 + 2 * len(pairs) + 4 * ends.words.shape[1],
        },
        pack(channels, pairs, ends),
        clamp=channels.clamp,
        shift=ends.shift,
        summed=summed,
        scratch_bytes=scratch_bytes,
        includes=includes,
        overlaps=(overlap,),
    )


def tiled_call(
    template: str,
    values: dict[str, Any],
    weights: NDArray[np.uint32],
    *,
    clamp: tuple[int, int],
    shift: int,
    summed: int,
    scratch_bytes: int,
    includes: Sequence[str] = (),
    overlaps: tuple[Overlap, ...] = (),
) -> KernelCall:
    """Returns the call of a kernel that multiplies columns in its scratch memory by tiles.

    `weights` are in the form of `pack`. `shift` is that of the two-instruction requantisation,
    0 where it has none.
    """
    lowest, highest = clamp
    clamped = (lowest, highest) != (-128, 127)
    return KernelCall(
        library="dsp",
        template=template,
        values={
            **values,
            "summed": summed,
            "suffix": f"_shift_{shift}" if shift else "",
            "clamped": clamped,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("weights", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            Parameter("columns", "uint32_t *", "scratch"),
        ),
        constants=(Constant("weights", weights),),
        scratch_bytes=scratch_bytes,
        includes=(
            "dsp",
            "dsp_product",
            f"dsp_product_tiles:shift={shift}",
            "dsp_widen",
            *(("dsp_sums",) if summed else ()),
            *(("dsp_clamp",) if clamped else ()),
            *includes,
        ),
        overlaps=overlaps,
    )
