"""CONV_2D of one int8 image without padding, dilation or groups."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._quantize import conv_requantization, folded_accumulator_fits, folded_bias
from uhost.numerics.fixed_point import activation_range
from uhost.ops._op import Padding2D
from uhost.ops.conv_2d import Conv2DAttributes, groups


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    if bound.input(0).dtype is not DType.INT8:
        return "not int8"
    if bound.attributes.padding != Padding2D():
        return "padding"
    if bound.input(0).shape[0] != 1 or bound.attributes.dilation != (1, 1) or groups(bound) != 1:
        return "several images, dilation or groups"
    return "" if folded_accumulator_fits(bound) else "a sum may leave 32 bits"


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    factors = conv_requantization(bound)
    lowest, highest = activation_range(bound.attributes.activation.bounds, bound.output)
    values = {
        "input": bound.input(0).shape[1:],
        "window": bound.input(1).shape[1:3],
        "stride": bound.attributes.stride,
        "output": bound.output.shape[1:],
        "zero_point": bound.output.zero_point,
        "lowest": lowest,
        "highest": highest,
    }
    constants = (
        Constant("weights", bound.input(1).constant()),
        Constant("bias", folded_bias(bound)),
        Constant("multipliers", factors.multipliers),
        Constant("shifts", factors.shifts.astype(np.int32)),
    )
    parameters = (
        Parameter("input", "const int8_t *", "input"),
        Parameter("weights", "const int8_t *", "constant", 0),
        *(
            Parameter(constant.role, "const int32_t *", "constant", index)
            for index, constant in enumerate(constants)
            if index
        ),
        Parameter("output", "int8_t *", "output"),
    )
    return KernelCall(
        "npu", "conv_2d", values, parameters, constants, includes=("npu/store", "requantize")
    )


KERNEL = Kernel("conv_2d", _supports, _lower, features=("npu",))
