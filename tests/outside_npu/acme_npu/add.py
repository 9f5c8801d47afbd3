"""ADD of two int8 tensors of one shape."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.numerics.fixed_point import activation_range
from uhost.ops.add import INPUT_LEFT_SHIFT, AddAttributes, add_scaling


def _supports(bound: BoundOperator[AddAttributes]) -> str:
    if bound.output.dtype is not DType.INT8:
        return "not int8"
    if bound.input(0).shape != bound.input(1).shape:
        return "broadcasting"
    return ""


def _lower(bound: BoundOperator[AddAttributes]) -> KernelCall:
    scaling = add_scaling(bound)
    lowest, highest = activation_range(bound.attributes.activation.bounds, bound.output)
    values = {
        "elements": bound.output.elements,
        "zero_points": tuple(bound.input(i).zero_point for i in (0, 1)),
        "output_zero_point": bound.output.zero_point,
        "left_shift": INPUT_LEFT_SHIFT,
        "scales": (scaling.first, scaling.second),
        "output_scale": scaling.output,
        "lowest": lowest,
        "highest": highest,
    }
    parameters = (
        Parameter("first", "const int8_t *", "input", 0),
        Parameter("second", "const int8_t *", "input", 1),
        Parameter("output", "int8_t *", "output"),
    )
    return KernelCall("npu", "add", values, parameters, includes=("npu/store", "requantize"))


KERNEL = Kernel("add", _supports, _lower, features=("npu",))
