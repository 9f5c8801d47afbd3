"""CAST in portable C."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.cast import CastAttributes


def _lower(bound: BoundOperator[CastAttributes]) -> KernelCall:
    source, target = bound.input(0).dtype, bound.output.dtype
    return lower_elements(bound, Expression(_converted(source, target)))


def _converted(source: DType, target: DType) -> str:
    """Returns the C of x in the target's type; C leaves open what floats beyond it become."""
    if source is target:
        return "x"
    if target is DType.BOOL:
        return "x != 0.0f" if source is DType.FLOAT32 else "x != 0"
    inside = f"({target.c_type})x"
    if source is not DType.FLOAT32:
        return inside
    low, high = (f"{float(end):.1f}f" for end in (target.limits[0], target.limits[1] + 1))
    name = target.value.upper()
    outside = f"x <= {low} ? {name}_MIN : 0" if target.limits[0] else "0"
    return f"x >= {high} ? {name}_MAX : x > {low} ? {inside} : {outside}"


KERNEL = Kernel(operator="cast", supports=takes_anything, lower=_lower, cost=stated_cost)
