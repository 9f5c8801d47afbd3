"""L2_POOL_2D in portable C."""

from __future__ import annotations

from dataclasses import replace

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._pool import pool_call
from uhost.ops._pooling import PoolAttributes


def _lower(bound: BoundOperator[PoolAttributes]) -> KernelCall:
    return replace(pool_call(bound, "l2_pool_2d"), includes=("float_sqrt",))


KERNEL = Kernel("l2_pool_2d", takes_anything, _lower, cost=stated_cost)
