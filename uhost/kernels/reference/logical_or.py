"""LOGICAL_OR in portable C, with any broadcasting."""

from __future__ import annotations

from uhost.kernels._kernel import Kernel
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything

KERNEL = Kernel(
    operator="logical_or",
    supports=takes_anything,
    lower=lambda bound: lower_elements(bound, Expression("a || b")),
    cost=stated_cost,
)
