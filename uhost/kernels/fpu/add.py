"""ADD of float32 tensors of one shape, four elements at a time where their count allows."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.kernels._overlap import by_element
from uhost.kernels.fpu._blocks import why_not_float
from uhost.kernels.reference._layer import float_values
from uhost.ops.add import AddAttributes


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


KERNEL = Kernel("add", _supports, _lower, features=("fpu",))
