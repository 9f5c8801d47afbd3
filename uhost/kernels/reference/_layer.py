"""What the templates print of a layer of weights, and the arrays its function reads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._quantize import (
    accumulator_fits,
    bias_fits,
    channel_bias,
    conv_requantization,
    folded_accumulator_fits,
    folded_bias,
)
from uhost.numerics.fixed_point import activation_range
from uhost.ops._op import Activation
from uhost.ops._weighted import weight_zero_point


def supports_layer(bound: BoundOperator[Any]) -> str:
    """Returns "" or the reason the reference kernels cannot take a layer of weights."""
    dtype = bound.input(0).dtype
    if dtype not in (DType.INT8, DType.FLOAT32):
        return f"no {dtype} arithmetic"
    if dtype is DType.INT8 and not accumulator_fits(bound):
        return "a sum of products may leave 32 bits"
    return ""


def layer_call(
    bound: BoundOperator[Any],
    template: str,
    activation: Activation,
    geometry: dict[str, Any],
    pads: bool,
) -> KernelCall:
    """Returns the call of a layer; `pads` says that windows reach into padding.

    `geometry` is what the template prints of shapes. The input's zero point is folded into the bias
    where every window has all its taps and the folded sums stay within 32 bits.
    """
    if bound.input(0).dtype is DType.FLOAT32:
        return _float_call(bound, template, activation, geometry)
    return _int8_call(bound, template, activation, geometry, pads)


def _float_call(
    bound: BoundOperator[Any], template: str, activation: Activation, geometry: dict[str, Any]
) -> KernelCall:
    bias = bound.optional_input(2)
    constants = [Constant("weights", bound.input(1).constant())]
    parameters = [
        Parameter("input", "const float *", "input"),
        Parameter("weights", "const float *", "constant", 0),
    ]
    if bias is not None:
        constants.append(Constant("bias", bias.constant().reshape(-1)))
        parameters.append(Parameter("bias", "const float *", "constant", 1))
    parameters.append(Parameter("output", "float *", "output"))
    values = {
        **geometry,
        **float_values(activation),
        "has_bias": bias is not None,
        "bias_wraps": False,
    }
    return KernelCall("reference", template, values, tuple(parameters), tuple(constants))


def _int8_call(
    bound: BoundOperator[Any],
    template: str,
    activation: Activation,
    geometry: dict[str, Any],
    pads: bool,
) -> KernelCall:
    folds = not pads and folded_accumulator_fits(bound)
    bias = folded_bias(bound) if folds else channel_bias(bound).astype(np.int32)
    factors = conv_requantization(bound)
    per_channel = not factors.is_uniform
    count = None if per_channel else 1
    arrays = [("weights", bound.input(1).constant())]
    if bias.any():
        arrays.append(("bias", bias))
    arrays.append(("multiplier", factors.multipliers[:count]))
    arrays.append(("shift", factors.shifts[:count].astype(np.int8)))
    ctypes = {"int8": "const int8_t *", "int32": "const int32_t *"}
    lowest, highest = activation_range(activation.bounds, bound.output)
    values = {
        **geometry,
        "is_float": False,
        "element": "int8_t",
        "accumulator": "int32_t",
        "has_bias": bool(bias.any()),
        "bias_wraps": not folds and not bias_fits(bound),
        "per_channel": per_channel,
        "input_zero_point": 0 if folds else bound.input(0).zero_point,
        "weight_zero_point": weight_zero_point(bound),
        "output_zero_point": bound.output.zero_point,
        "lowest": lowest,
        "highest": highest,
    }
    parameters = (
        Parameter("input", "const int8_t *", "input"),
        *(
            Parameter(role, ctypes[str(array.dtype)], "constant", index)
            for index, (role, array) in enumerate(arrays)
        ),
        Parameter("output", "int8_t *", "output"),
    )
    constants = tuple(Constant(role, array) for role, array in arrays)
    return KernelCall(
        "reference", template, values, parameters, constants, includes=("requantize",)
    )


def float_values(activation: Activation) -> dict[str, Any]:
    """Returns what templates print of float arithmetic: types and the clamp, None for no bound."""
    lowest, highest = activation.bounds
    return {
        "is_float": True,
        "element": "float",
        "accumulator": "float",
        "lowest": lowest if math.isfinite(lowest) else None,
        "highest": highest if math.isfinite(highest) else None,
    }
