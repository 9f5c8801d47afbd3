"""ADD of int8 tensors of one shape, as a linear form that is exact for every pair of inputs."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.kernels._linear import linear_form
from uhost.ops.add import AddAttributes


def _supports(bound: BoundOperator[AddAttributes]) -> str:
    if bound.output.dtype is not DType.INT8:
        return f"{bound.output.dtype}"
    if bound.input(0).shape != bound.input(1).shape:
        return "broadcasting"
    if linear_form(bound) is None:
        return "no linear form is exact for every pair of inputs"
    return ""


def _lower(bound: BoundOperator[AddAttributes]) -> KernelCall:
    form = linear_form(bound)
    assert form is not None
    return KernelCall(
        library="mve",
        template="add",
        values={
            "elements": bound.output.elements,
            "first": form.first,
            "second": form.second,
            "constant": form.constant,
            "shift": form.shift - 16,
            "clamped": (form.lowest, form.highest) != (-128, 127),
            "lowest": form.lowest,
            "highest": form.highest,
        },
        parameters=(
            Parameter("first", "const int8_t *", "input", 0),
            Parameter("second", "const int8_t *", "input", 1),
            Parameter("output", "int8_t *", "output"),
        ),
        includes=("mve",),
    )


KERNEL = Kernel("add", _supports, _lower, features=("mve",))
