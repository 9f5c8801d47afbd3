"""ELU in portable C: a table for int8, the exponential for float."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._elementwise import NoAttributes


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    if bound.output.dtype is DType.INT8:
        return lower_lookup(bound)
    result = "x < 0.0f ? uhost_exp_less_one(x) : x"
    return lower_elements(bound, Expression(result, (), ("float_exp", "float_exp_less_one")))


KERNEL = Kernel("elu", takes_anything, _lower, cost=stated_cost)
