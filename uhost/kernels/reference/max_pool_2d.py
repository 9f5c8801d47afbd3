"""MAX_POOL_2D in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._pool import pool_call, supports_pool
from uhost.ops._pooling import PoolAttributes


def _lower(bound: BoundOperator[PoolAttributes]) -> KernelCall:
    return pool_call(bound, "max_pool_2d")


KERNEL = Kernel("max_pool_2d", supports_pool, _lower, cost=stated_cost, is_fallback=True)
