"""RELU in portable C."""

from __future__ import annotations

from uhost.kernels._kernel import Kernel
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._rectify import lower_rectifier
from uhost.ops._op import Activation

KERNEL = Kernel(
    operator="relu",
    supports=takes_anything,
    lower=lambda bound: lower_rectifier(bound, Activation.RELU),
    cost=stated_cost,
    is_fallback=True,
)
