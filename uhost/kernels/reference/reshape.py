"""RESHAPE where the output cannot share the input's bytes: a copy."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.kernels.reference._kinds import stated_cost
from uhost.ops.reshape import ReshapeAttributes


def _lower(bound: BoundOperator[ReshapeAttributes]) -> KernelCall:
    element = bound.output.dtype.c_type
    return KernelCall(
        library="reference",
        template="reshape",
        values={"elements": bound.output.elements},
        parameters=(
            Parameter("input", f"const {element} *", "input"),
            Parameter("output", f"{element} *", "output"),
        ),
    )


KERNEL = Kernel(operator="reshape", supports=lambda bound: "", lower=_lower, cost=stated_cost)
