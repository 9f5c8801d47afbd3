"""CONV_2D with a 1x1 window over 8 or 16 channels and a fused ReLU.

So few inputs stay in registers while all weights pass by, which spares the columns that
the general product reads again for every four outputs. Weights are halfwords, 256-fold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._overlap import over_pixels
from uhost.kernels.dsp import conv_2d_pointwise
from uhost.kernels.dsp._channels import Channels, fold
from uhost.kernels.dsp._product import column_pairs
from uhost.numerics.requantization import RectifiedForm
from uhost.ops.conv_2d import Conv2DAttributes

_DEPTHS = (8, 16)
_MOST_CHANNELS = 2047
"""STRB reaches the second pixel's outputs."""


def _form(channels: Channels) -> RectifiedForm | None:
    return channels.rectified(np.full(len(channels.bias), 8))


def _pixels(bound: BoundOperator[Conv2DAttributes]) -> int:
    return bound.output.elements // bound.output.shape[3]


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    reason = conv_2d_pointwise.why_not_pointwise(bound)
    if reason:
        return reason
    if bound.input(0).shape[3] not in _DEPTHS:
        return "neither 8 nor 16 input channels"
    if _pixels(bound) < 2:
        return "a single pixel"
    if bound.output.shape[3] > _MOST_CHANNELS:
        return f"more than {_MOST_CHANNELS} output channels"
    channels = fold(bound)
    reason = channels.why_inexact()
    if reason:
        return reason
    return "" if _form(channels) is not None else "no requantisation in two instructions"


def _pack(channels: Channels, form: RectifiedForm) -> NDArray[np.uint32]:
    """Returns per channel the bias, pairs of weights, multiplier and addend."""
    first, second = np.asarray(column_pairs(channels.weights.shape[1], 1, even=False)).T
    weights = 256 * channels.weights & 0xFFFF
    bias = 256 * (channels.bias + form.bias_changes)
    stream = np.hstack(
        [
            bias[:, None],
            weights[:, first] | weights[:, second] << 16,
            np.stack([form.multipliers, form.addends], axis=1),
        ]
    )
    return (stream.reshape(-1) & 0xFFFFFFFF).astype(np.uint32)


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    channels, pixels = fold(bound), _pixels(bound)
    form = _form(channels)
    assert form is not None
    count, depth = channels.weights.shape
    unrolled = next(n for n in (4, 3, 2, 1) if count % n == 0)
    lowest, highest = channels.clamp
    together = 2 if depth == _DEPTHS[0] else 1
    again = 1 if together == 2 and pixels % 2 else 0
    clamped = (lowest, highest) != (-128, 127)
    return KernelCall(
        library="dsp",
        template="conv_2d_pointwise_small",
        values={
            "pixels": pixels,
            "rounds": pixels // together,
            "depth": depth,
            "channels": count,
            "routine": f"uhost_dsp_pointwise_{depth}x{count}_shift_{form.shift}",
            "clamped": clamped,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("weights", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
        ),
        constants=(Constant("weights", _pack(channels, form)),),
        includes=(
            "dsp",
            f"dsp_pointwise_small:depth={depth},channels={count},shift={form.shift},"
            f"unrolled={unrolled}",
            *(("dsp_clamp",) if clamped else ()),
        ),
        overlaps=(over_pixels(pixels, depth, count, together=together, again=again),),
    )


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",))
