"""CONV_2D with a 3x3 window and stride 1 by Winograd's F(2x2, 3x3), in exact integers.

2.25 times fewer multiplications than direct convolution, for 3.55 times the weight bytes.
`templates/kernels/include/dsp_winograd.h.j2` has the transformation and why it is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._overlap import Overlap, forward
from uhost.kernels.dsp._channels import Channels, Integers, fold, why_not_int8
from uhost.kernels.dsp._winograd_cost import winograd_cost
from uhost.ops._window import Axis
from uhost.ops.conv_2d import Conv2DAttributes, window_axes

_FEWEST_CHANNELS = 16
_MOST_CHANNELS = 80
"""Below, transformation costs more than it saves; above, STRD does not reach."""

_SUM_LIMIT = 1 << 29
"""Four times a sum below this in size fits 32 bits."""

_LARGEST_OFFSET = 4095
_FILTER = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]], np.int64)


def transformed_filters(weights: Integers) -> Integers:
    """Returns U = G g G' of (..., 3, 3) filters, as (..., 4, 4)."""
    result: Integers = _FILTER @ weights @ _FILTER.T
    return result


def _positions_per_round(depth: int) -> int:
    """Returns how many positions of V the generated loop takes at once."""
    return 4 if depth <= 16 else 2 if depth <= 32 else 1


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    x, attributes = bound.input(0), bound.attributes
    if bound.input(1).shape[1:3] != (3, 3) or attributes.stride != (1, 1):
        return "not 3x3 with stride 1"
    if attributes.dilation != (1, 1):
        return "dilation"
    if bound.input(1).shape[3] != x.shape[3]:
        return "grouped"
    if x.shape[0] != 1:
        return f"batch of {x.shape[0]}"
    if not _FEWEST_CHANNELS <= x.shape[3] <= _MOST_CHANNELS or x.shape[3] % 4:
        return f"{x.shape[3]} input channels, not a multiple of 4 from 16 to 80"
    _, rows, columns, channels = bound.output.shape
    if rows % 2 or columns % 4 or channels % 2:
        return "outputs that are not whole pairs of tiles"
    if (columns + 3) * channels > _LARGEST_OFFSET:
        return "rows of outputs that are too long"
    folded = fold(bound)
    if (folded.reach >= _SUM_LIMIT).any():
        return "sums that reach 2^29"
    return folded.why_inexact()


def _pack(channels: Channels, ends: Integers, depth: int) -> NDArray[np.uint32]:
    """Returns the weight stream: per pair of channels 16 positions, then both channels' ends."""
    filters = channels.weights.reshape(-1, 3, 3, depth).transpose(0, 3, 1, 2)
    elements = transformed_filters(filters).reshape(len(filters), depth, 16)
    # Bytes 0 and 2, then 1 and 3 of four channels share a word, as SXTB16 leaves them.
    fours = elements.reshape(-1, 2, depth // 4, 4, 16) & 0xFFFF
    words = fours[:, :, :, [0, 1]] | fours[:, :, :, [2, 3]] << 16
    # To (pair, position, four channels, output channel, word).
    ordered = words.transpose(0, 4, 2, 1, 3).reshape(len(words), -1)
    stream = np.concatenate([ordered, ends.reshape(len(words), -1)], axis=1)
    return (stream.reshape(-1) & 0xFFFFFFFF).astype(np.uint32)


def _overlap(rows: Axis, columns: Axis, depth: int, count: int) -> Overlap:
    """Returns the overlap: two output rows of four columns a step, the next columns read before."""
    tops, lefts = np.arange(0, rows.output, 2), np.arange(0, columns.output, 4)
    first = np.maximum(tops - rows.before, 0)[:, None] * columns.size
    # Columns at the right edge may lie outside; counting the edge is on the safe side.
    ahead = np.where(lefts == 0, 0, np.clip(lefts + 4 - columns.before, 0, columns.size))
    ends = ((tops + 1)[:, None] * columns.output + lefts + 4) * count
    return forward(0, ((first + ahead) * depth).reshape(-1), ends.reshape(-1))


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    rows, columns = window_axes(bound)
    depth, count = bound.input(0).shape[3], bound.output.shape[3]
    channels = fold(bound)
    form = channels.rectified(np.full(count, 2))
    if form is None:
        shift = 0
        bias, ends = channels.bias, [channels.multipliers, channels.addends, channels.shifts]
    else:
        shift = form.shift
        bias, ends = channels.bias + form.bias_changes, [form.multipliers, form.addends]
    row = columns.output * count
    per_round = _positions_per_round(depth)
    rounds = 16 // per_round
    position_halfwords = 32 * depth + 2 * rounds
    lowest, highest = channels.clamp
    clamped = (lowest, highest) != (-128, 127)
    return KernelCall(
        library="dsp",
        template="conv_2d_winograd",
        values={
            "size": (rows.size, columns.size),
            "depth": depth,
            "outputs": (rows.output, columns.output),
            "channels": count,
            "before": (rows.before, columns.before),
            "zero_point": bound.input(0).zero_point,
            "position_halfwords": position_halfwords,
            "rounds": rounds,
            "routine": f"uhost_dsp_winograd_product_{depth}x{count}_row_{row}_shift_{shift}",
            "clamped": clamped,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("weights", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            Parameter("scratch", "int16_t *", "scratch"),
        ),
        constants=(
            Constant("weights", _pack(channels, np.stack([4 * bias, *ends], axis=1), depth)),
        ),
        # Two halves of the ring, V, and four pixels of padding.
        scratch_bytes=64 * depth + 2 * position_halfwords + 4 * depth,
        includes=(
            "dsp",
            "assembler_stack",
            "dsp_winograd",
            f"dsp_winograd_input:channels={depth},round={per_round}",
            f"dsp_winograd_product:channels={depth},outputs={count},row={row},shift={shift},"
            f"round={per_round}",
            *(("dsp_clamp",) if clamped else ()),
        ),
        overlaps=(_overlap(rows, columns, depth, count),),
    )


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",), cost=winograd_cost)
