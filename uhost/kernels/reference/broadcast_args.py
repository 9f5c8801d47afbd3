"""BROADCAST_ARGS in portable C, for shapes that are not known before the run."""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.broadcast_args import BroadcastArgsAttributes


def _lower(bound: BoundOperator[BroadcastArgsAttributes]) -> KernelCall:
    first, second = bound.input(0), bound.input(1)
    longer = "first" if first.elements >= second.elements else "second"
    values: dict[str, Any] = {
        "more": abs(first.elements - second.elements),
        "common": min(first.elements, second.elements),
        "longer": longer,
    }
    values["shift"] = f" + {values['more']}" if values["more"] else ""
    parameters = (
        input_parameter(first, "first", 0),
        input_parameter(second, "second", 1),
        output_parameter(bound.output),
    )
    return KernelCall("reference", "broadcast_args", values, parameters)


KERNEL = Kernel(operator="broadcast_args", supports=takes_anything, lower=_lower, cost=stated_cost)
