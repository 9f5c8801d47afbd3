"""CONV_2D with a 1x1 window over 8 or 16 channels and a fused ReLU.

So few inputs stay in registers while all weights pass by, which spares the columns that
the general product reads again for every four outputs. Weights are halfwords, 256-fold,
or 64-fold where they take nine bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._overlap import over_pixels
from uhost.kernels.dsp import conv_2d_pointwise
from uhost.kernels.dsp._channels import Channels, fold, spare_bits
from uhost.kernels.dsp._pieces import CLAMP_BYTES, clamping
from uhost.kernels.dsp._product import column_pairs
from uhost.numerics.requantization import RectifiedForm
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.targets._work import Work

_DEPTHS = (8, 16)
_MOST_CHANNELS = 2047
"""STRB reaches the second pixel's outputs."""


def _form(channels: Channels) -> RectifiedForm | None:
    return channels.rectified(np.full(len(channels.bias), spare_bits(channels)))


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
    bits = spare_bits(channels)
    weights = channels.weights << bits & 0xFFFF
    bias = channels.bias + form.bias_changes << bits
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
    bits = spare_bits(channels)
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
            "routine": f"uhost_dsp_pointwise_{depth}x{count}_shift_{form.shift}"
            f"{'' if bits == 8 else '_wide'}",
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
            f"dsp_pointwise_small:depth={depth},channels={count},shift={form.shift},fold={bits},"
            f"unrolled={unrolled}",
            *(("dsp_clamp",) if clamped else ()),
        ),
        overlaps=(over_pixels(pixels, depth, count, together=together, again=again),),
    )


_ENTER = Work(store_many=2, load_many=1, words=22, alu=3)
_PIXELS = {
    8: Work(load_many=2, words=6, load=2, store=4, alu=11, branch=1),
    16: Work(load_many=2, words=6, load=2, store=4, alu=10, branch=1),
}
"""Of a round, by depth: inputs are widened, and the next ones found."""
_CHANNEL = {
    8: Work(load_many=3, words=7, multiply=10, alu=2, store=2),
    16: Work(load_many=3, words=10, load=1, multiply=9, alu=1, store=1),
}
"""One output channel of two pixels, or of one."""


def _cost(_bound: BoundOperator[Conv2DAttributes], call: KernelCall) -> Cost:
    values = call.values
    depth, count, pixels = values["depth"], values["channels"], values["pixels"]
    routine = next(name for name in call.includes if name.startswith("dsp_pointwise_small:"))
    unrolled = int(routine.rpartition("unrolled=")[2])
    loop = Work(load=1, alu=1, branch=1) * (count // unrolled)
    one = _PIXELS[depth] + _CHANNEL[depth] * count + loop
    twice = depth == _DEPTHS[0] and pixels % 2 == 1
    work = _ENTER + one * values["rounds"] + Work(alu=1, branch=1)
    code = 8
    if twice:
        work += _ENTER + one + Work(alu=10, load_many=1, store_many=1, words=10, branch=1)
        code = 40
    shared = {routine: 108 + (68 if depth == _DEPTHS[0] else 60) * unrolled}
    if values["clamped"]:
        work += clamping(pixels * count) + Work(alu=8, load_many=1, store_many=1, words=6)
        shared["dsp_clamp"] = CLAMP_BYTES
        code += 28
    return Cost(work, code, shared)


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",), cost=_cost)
