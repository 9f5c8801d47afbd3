"""ADD of int8 tensors of one shape, as a linear form that is exact for every pair of inputs."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._linear import linear_form
from uhost.kernels._overlap import by_element
from uhost.kernels.reference._nest import plus
from uhost.kernels.reference._parameters import input_parameter, output_parameter
from uhost.ops.add import AddAttributes
from uhost.targets._work import Work


def _supports(bound: BoundOperator[AddAttributes]) -> str:
    first, second = bound.input(0), bound.input(1)
    if bound.output.dtype is not DType.INT8:
        return f"{bound.output.dtype}"
    if first.shape != second.shape:
        return "broadcasting"
    return "" if linear_form(bound) else "no linear form is exact for every pair of inputs"


def _lower(bound: BoundOperator[AddAttributes]) -> KernelCall:
    form = linear_form(bound)
    assert form is not None
    return KernelCall(
        "reference",
        "add_linear",
        {
            "elements": bound.output.elements,
            "first": form.first,
            "second": form.second,
            "constant": plus(form.constant),
            "shift": form.shift,
            "lowest": form.lowest,
            "highest": form.highest,
        },
        (
            input_parameter(bound.input(0), "first", 0),
            input_parameter(bound.input(1), "second", 1),
            output_parameter(bound.output),
        ),
        includes=("requantize",),
        overlaps=(by_element(bound, 0), by_element(bound, 1)),
    )


def _cost(bound: BoundOperator[AddAttributes], call: KernelCall) -> Cost:
    element = Work(load=2, multiply=2, alu=9, store=1, branch=1)
    return Cost(element * bound.output.elements + Work(alu=12, load_many=1, store_many=1), 66)


KERNEL = Kernel("add", _supports, _lower, cost=_cost)
