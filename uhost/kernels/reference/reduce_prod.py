"""REDUCE_PROD in portable C."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._reduce import Fold, lower_fold
from uhost.ops._reduce import ReduceAttributes


def _lower(bound: BoundOperator[ReduceAttributes]) -> KernelCall:
    dtype = bound.output.dtype
    if dtype is DType.FLOAT32:
        fold = Fold("float", "1.0f", "made *= @;", "made")
    else:
        # Unsigned, so that an overflow wraps.
        wraps = f"u{dtype.c_type}"
        fold = Fold(wraps, "1", f"made *= ({wraps})@;", f"({dtype.c_type})made")
    return lower_fold(bound, bound.attributes.axes, fold)


KERNEL = Kernel("reduce_prod", takes_anything, _lower, cost=stated_cost)
