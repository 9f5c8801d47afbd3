"""SPLIT in portable C."""

from __future__ import annotations

from uhost.kernels._kernel import Kernel
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._split import lower_split

KERNEL = Kernel(operator="split", supports=takes_anything, lower=lower_split, cost=stated_cost)
