"""REDUCE_ALL in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._reduce import Fold, lower_fold
from uhost.ops._reduce import ReduceAttributes


def _lower(bound: BoundOperator[ReduceAttributes]) -> KernelCall:
    fold = Fold("bool", "true", "made = made && @;", "made")
    return lower_fold(bound, bound.attributes.axes, fold)


KERNEL = Kernel("reduce_all", takes_anything, _lower, cost=stated_cost)
