"""AVERAGE_POOL_2D over windows that lie on the image, eight channels at a time.

The quotient of a sum is one multiplication by about 2^32 / pixels. There are at most
255 · 256 + 1 sums, so whether it rounds all of them right is looked up, not argued.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._pool import pool_call, pool_cost, why_not_pooled
from uhost.ops.average_pool_2d import AveragePool2DAttributes
from uhost.targets._work import Work

_MOST_PIXELS = 256
"""A sum of so many elements fits a halfword."""


@dataclass(frozen=True, slots=True)
class Division:
    """Factor with which SMMULR divides; `lowers` if negative sums have to come less 1.

    A factor above 2^32 / pixels takes ties of either sign away from zero, as they should
    be; only the exact factors of powers of two need help with the negative ones.
    """

    multiplier: int
    lowers: bool


def division(pixels: int, upward: bool = False) -> Division | None:
    """Returns how every sum of `pixels` elements is divided, rounding to nearest.

    Ties go away from zero, or `upward`. None where one multiplication does not do it.
    """
    sums = np.arange(-128 * pixels, 127 * pixels + 1, dtype=np.int64)
    magnitudes = (np.abs(sums) + pixels // 2) // pixels
    expected = np.where(sums < 0, -magnitudes, magnitudes)
    if upward:
        expected = (sums + pixels // 2) // pixels
    multiplier = -(-(1 << 32) // pixels)
    for lowers in (False, True):
        rounded = ((sums + lowers * (sums >> 63)) * multiplier + (1 << 31)) >> 32
        if multiplier < 1 << 31 and np.array_equal(rounded, expected):
            return Division(multiplier, lowers)
    return None


def _pixels(bound: BoundOperator[AveragePool2DAttributes]) -> int:
    return bound.attributes.window[0] * bound.attributes.window[1]


def _supports(bound: BoundOperator[AveragePool2DAttributes]) -> str:
    reason = why_not_pooled(bound, 8)
    if reason:
        return reason
    if _pixels(bound) > _MOST_PIXELS:
        return f"windows of more than {_MOST_PIXELS} pixels"
    if _division(bound) is None:
        return "a window whose mean takes more than one multiplication"
    return ""


def _division(bound: BoundOperator[AveragePool2DAttributes]) -> Division | None:
    return division(_pixels(bound), bound.attributes.unsigned)


def _lower(bound: BoundOperator[AveragePool2DAttributes]) -> KernelCall:
    divided = _division(bound)
    assert divided is not None
    values = {
        "multiplier": divided.multiplier,
        "routine": "uhost_dsp_average_eight" + ("_lowered" if divided.lowers else ""),
    }
    includes = ("dsp_average", f"dsp_average_eight:lowers={int(divided.lowers)}")
    return pool_call("average_pool_2d", bound, values, includes)


def _cost(_bound: BoundOperator[AveragePool2DAttributes], call: KernelCall) -> Cost:
    rows, columns = call.values["window"]
    lowers = str(call.values["routine"]).endswith("_lowered")
    pixel = Work(alu=6, load=2, branch=1)
    row = pixel * columns + Work(alu=2, load=1, branch=1)
    enter = Work(alu=4, load=1, load_many=1, store_many=1, words=11)
    leave = Work(multiply=8, alu=8 + 8 * lowers, load=1, store=8, load_many=1, words=9)
    shared = {name: 156 + 32 * lowers for name in call.includes if "average_eight" in name}
    return pool_cost(call, 8, enter + row * rows + leave, shared)


KERNEL = Kernel("average_pool_2d", _supports, _lower, features=("dsp",), cost=_cost)
