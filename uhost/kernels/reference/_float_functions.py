"""The kernel of an operator that applies one function to every float32 element."""

from __future__ import annotations

from uhost.kernels._kernel import Kernel
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything


def float_kernel(kind: str, result: str, *includes: str) -> Kernel:
    """Returns the kernel that stores the C expression `result` of an element `x`."""
    expression = Expression(result, (), includes)
    return Kernel(
        kind, takes_anything, lambda bound: lower_elements(bound, expression), cost=stated_cost
    )
