"""SELECT in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._elementwise import NoAttributes
from uhost.ops.select import condition_shape


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    shapes = [condition_shape(bound), bound.input(1).shape, bound.input(2).shape]
    return lower_elements(bound, Expression("a ? b : c"), shapes)


KERNEL = Kernel("select", takes_anything, _lower, cost=stated_cost)
