"""DEPTHWISE_CONV_2D with a 3x3 window and a fused ReLU, stride 1 or 2 along lines.

Sums are 256-fold, so that the two-instruction form takes them as they are. As many output
lines as its share of scratch allows are made at once, so that a channel's weights are
loaded seldom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels.dsp._channels import Channels, fold, spare_bits
from uhost.kernels.dsp._lines import (
    Lines,
    image_lines,
    line_weights,
    why_not_lines,
)
from uhost.kernels.dsp._strips import (
    Strips,
    even_strips,
    pitch_bytes,
    strip_overlaps,
    strip_values,
)
from uhost.kernels.dsp._strips_cost import rectified_cost
from uhost.numerics.requantization import RectifiedForm
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes

_LARGEST_PITCH_BYTES = 508
"""LDRD reaches back two lines of this size."""

_MOST_PAIRS_UNROLLED = 4


def rectified_lines(bound: BoundOperator[DepthwiseConv2DAttributes]) -> list[Lines]:
    """Returns the ways to cut the image into lines that the routine can take."""

    def fits(lines: Lines) -> bool:
        return lines.along.stride in (1, 2) and pitch_bytes(lines) <= _LARGEST_PITCH_BYTES

    return [lines for lines in image_lines(bound) if fits(lines)]


def _form(channels: Channels) -> RectifiedForm | None:
    return channels.rectified(np.full(len(channels.bias), spare_bits(channels)))


def _records(channels: Channels, form: RectifiedForm, lines: Lines) -> NDArray[np.uint32]:
    """Returns per channel three lines (w1, w0, w2, w1), addend, bias and multiplier.

    A line is four bytes, or where weights take nine bits halfwords (w0, w1, w1, w2).
    """
    fold_bits, taps = spare_bits(channels), line_weights(channels, lines)
    if fold_bits == 8:
        words = ((taps[:, :, [1, 0, 2, 1]] & 0xFF) << np.array([0, 8, 16, 24])).sum(axis=2)
    else:
        halves = taps[:, :, [0, 1, 1, 2]] << fold_bits & 0xFFFF
        words = (halves[:, :, 0::2] | halves[:, :, 1::2] << 16).reshape(len(taps), -1)
    bias = channels.bias + form.bias_changes << fold_bits
    ends = np.stack([form.addends, bias, form.multipliers], axis=1)
    return (np.concatenate([words, ends], axis=1).reshape(-1) & 0xFFFFFFFF).astype(np.uint32)


def why_not_rectified(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    """Returns "" if the routine can make the layer's outputs, or the reason."""
    if bound.input(1).shape[1:3] != (3, 3):
        return "not 3x3"
    reason = why_not_lines(bound)
    if reason:
        return reason
    if bound.output.shape[3] < 4:
        return "fewer than four channels"
    if not rectified_lines(bound):
        return "stride above 2, or lines too long"
    return "" if _form(fold(bound)) is not None else "no requantisation in two instructions"


def strips_call(
    bound: BoundOperator[DepthwiseConv2DAttributes], lines: Lines, strips: Strips
) -> KernelCall:
    """Returns the call that makes the outputs strip by strip."""
    channels = fold(bound)
    form = _form(channels)
    assert form is not None
    across, along = lines.across, lines.along
    pitch = strips.pitch_bytes
    pairs = along.output // 2
    unrolled = next(n for n in range(_MOST_PAIRS_UNROLLED, 0, -1) if max(pairs, 1) % n == 0)
    wide = spare_bits(channels) < 8
    values = strip_values(bound, lines, strips)
    shape = f"{along.output}_pitch_{pitch}_stride_{across.stride}{along.stride}"
    return KernelCall(
        library="dsp",
        template="depthwise_conv_2d_3x3_rectified",
        values={
            **values,
            "routine": f"uhost_dsp_depthwise_3x3_{shape}_shift_{form.shift}"
            f"{'_wide' if wide else ''}",
            "record_words": 9 if wide else 6,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("records", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            Parameter("planes", "uint32_t *", "scratch"),
        ),
        constants=(Constant("records", _records(channels, form, lines)),),
        scratch_bytes=4 * pitch * strips.slots,
        includes=(
            "dsp",
            "dsp_depthwise",
            f"dsp_depthwise_3x3_rectified:outputs={along.output},pitch={pitch},"
            f"across={across.stride},along={along.stride},shift={form.shift},"
            f"fold={spare_bits(channels)},unrolled={unrolled}",
            "dsp_lines",
            "dsp_split",
            *(("dsp_clamp",) if values["clamped"] else ()),
        ),
        overlaps=strip_overlaps(lines, strips, bound.output.shape[3]),
    )


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    lines = rectified_lines(bound)[0]
    return strips_call(bound, lines, even_strips(bound, lines))


KERNEL = Kernel(
    "depthwise_conv_2d", why_not_rectified, _lower, features=("dsp",), cost=rectified_cost
)
