"""READ_VARIABLE in portable C, where the state is changed before the values are used: a copy."""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything


def _lower(bound: BoundOperator[Any]) -> KernelCall:
    return lower_copies(bound, [Piece((bound.output.elements,), (1,), (1,))])


KERNEL = Kernel(operator="read_variable", supports=takes_anything, lower=_lower, cost=stated_cost)
