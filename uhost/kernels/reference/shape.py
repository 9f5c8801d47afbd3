"""SHAPE in portable C, for a graph whose constants are not folded."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import output_parameter, takes_anything
from uhost.ops.shape import ShapeAttributes


def _lower(bound: BoundOperator[ShapeAttributes]) -> KernelCall:
    values = {"sizes": bound.input(0).shape}
    return KernelCall("reference", "shape", values, (output_parameter(bound.output),))


KERNEL = Kernel(operator="shape", supports=takes_anything, lower=_lower, cost=stated_cost)
