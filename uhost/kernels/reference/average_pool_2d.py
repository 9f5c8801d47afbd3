"""AVERAGE_POOL_2D in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._pool import pool_call, supports_pool
from uhost.kernels.reference._work import pool_cost
from uhost.ops._pooling import PoolAttributes, window_axes


def _lower(bound: BoundOperator[PoolAttributes]) -> KernelCall:
    return pool_call(bound, "average_pool_2d")


KERNEL = Kernel(
    "average_pool_2d",
    supports_pool,
    _lower,
    cost=lambda bound, call: pool_cost(call, *window_axes(bound)),
)
