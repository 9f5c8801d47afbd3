"""MAX_POOL_2D of float32 by blocks of channels."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.fpu._blocks import why_not_float
from uhost.kernels.fpu._pool import pool_call
from uhost.kernels.fpu._work import taps_cost
from uhost.ops._pooling import PoolAttributes, window_axes


def _lower(bound: BoundOperator[PoolAttributes]) -> KernelCall:
    return pool_call(bound, "max_pool_2d", "maximum")


KERNEL = Kernel(
    "max_pool_2d",
    why_not_float,
    _lower,
    features=("fpu",),
    cost=lambda bound, call: taps_cost(call, *window_axes(bound)),
)
