"""MAX_POOL_2D of int8, sixteen channels at a time; padding is left out of every window."""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.mve._pool import pool_call, pool_cost, why_not_pooled
from uhost.targets._work import Work

_LANES = 16


def _lower(bound: BoundOperator[Any]) -> KernelCall:
    return pool_call("max_pool_2d", bound, _LANES, {})


def _cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    return pool_cost(bound, call, Work(), 120)


KERNEL = Kernel("max_pool_2d", why_not_pooled, _lower, features=("mve",), cost=_cost)
