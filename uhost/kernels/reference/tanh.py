"""TANH in portable C: a table for int8, interpolation for int16, the exponential for float."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import takes_anything
from uhost.numerics.logistic import logistic_table
from uhost.numerics.tanh import tanh_int16_factor
from uhost.ops._elementwise import NoAttributes


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    source = bound.input(0)
    if source.dtype is DType.INT8:
        return lower_lookup(bound)
    if source.dtype is DType.FLOAT32:
        includes = ("float_exp", "float_tanh")
        return lower_elements(bound, Expression("uhost_float_tanh(x)", (), includes))
    multiplier, shift = tanh_int16_factor(source.scale)
    place = f"x * {multiplier}"
    if shift:
        place = f"(x * {multiplier} + {2 ** (shift - 1)}) >> {shift}"
    table = Constant("table", logistic_table())
    result = f"(int16_t)uhost_tanh({place}, table)"
    return lower_elements(bound, Expression(result, (), ("tanh",), (table,)))


KERNEL = Kernel("tanh", takes_anything, _lower, cost=stated_cost)
