"""MAX_POOL_2D over windows that lie on the image, four channels at a time."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._pool import pool_call, why_not_pooled
from uhost.ops.max_pool_2d import MaxPool2DAttributes


def _supports(bound: BoundOperator[MaxPool2DAttributes]) -> str:
    return why_not_pooled(bound, 4)


def _lower(bound: BoundOperator[MaxPool2DAttributes]) -> KernelCall:
    return pool_call("max_pool_2d", bound, {}, ("dsp_maximum",))


KERNEL = Kernel("max_pool_2d", _supports, _lower, features=("dsp",))
