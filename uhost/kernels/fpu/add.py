"""ADD of float32 tensors of one shape, four elements at a time where their count allows."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.kernels._overlap import by_element
from uhost.kernels.fpu._blocks import why_not_float
from uhost.kernels.fpu._work import clamping, clamping_bytes
from uhost.kernels.reference._layer import float_values
from uhost.ops.add import AddAttributes
from uhost.targets._work import Work


def _supports(bound: BoundOperator[AddAttributes]) -> str:
    reason = why_not_float(bound)
    if reason:
        return reason
    return "" if bound.input(0).shape == bound.input(1).shape else "broadcasting"


def _lower(bound: BoundOperator[AddAttributes]) -> KernelCall:
    elements = bound.output.elements
    values = {
        "elements": elements,
        "step": next(step for step in (4, 2, 1) if elements % step == 0),
        **float_values(bound.attributes.activation),
    }
    parameters = (
        Parameter("first", "const float *", "input", 0),
        Parameter("second", "const float *", "input", 1),
        Parameter("output", "float *", "output"),
    )
    return KernelCall(
        "fpu",
        "add",
        values,
        parameters,
        includes=("fpu",),
        overlaps=(by_element(bound, 0), by_element(bound, 1)),
    )


def _cost(bound: BoundOperator[AddAttributes], call: KernelCall) -> Cost:
    step: int = call.values["step"]
    element = Work(load=2, float_alu=1, store=1) + clamping(call.values)
    turn = element * step + Work(alu=4, branch=1)
    code = 4 + (18 + clamping_bytes(call.values)) * step
    return Cost(turn * (bound.output.elements // step) + Work(alu=8, branch=1), code)


KERNEL = Kernel("add", _supports, _lower, features=("fpu",), cost=_cost)
