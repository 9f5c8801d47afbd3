"""What the templates print of a layer of weights, and the arrays its function reads."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import Overlap, over_pixels
from uhost.kernels._quantize import (
    Requantization,
    accumulator_fits,
    bias_fits,
    channel_bias,
    conv_requantization,
    folded_accumulator_fits,
    folded_bias,
)
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
)
from uhost.numerics.fixed_point import activation_range, cut_multiplier
from uhost.ops._op import Activation
from uhost.ops._weighted import is_hybrid, is_wide, weight_zero_point


def supports_layer(bound: BoundOperator[Any]) -> str:
    """Returns "" or the reason the reference kernels cannot take a layer of weights."""
    dtype = bound.input(0).dtype
    if is_hybrid(bound):
        return "float32 activations with int8 weights"
    if dtype not in (DType.INT8, DType.INT16, DType.FLOAT32):
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
    overlaps: tuple[Overlap, ...] = (),
) -> KernelCall:
    """Returns the call of a layer; `pads` says that windows reach into padding.

    `geometry` is what the template prints of shapes, `overlaps` what its loops allow. The
    input's zero point is folded into the bias where every window has all its taps and the
    folded sums stay within 32 bits.
    """
    if bound.input(0).dtype is DType.FLOAT32:
        call = _float_call(bound, template, activation, geometry)
    elif bound.input(0).dtype is DType.INT16:
        call = _int16_call(bound, template, activation, geometry)
    else:
        call = _int8_call(bound, template, activation, geometry, pads)
    return replace(call, overlaps=overlaps)


def row_overlaps(
    bound: BoundOperator[Any], channels_in: int, channels_out: int
) -> tuple[Overlap, ...]:
    """Returns where input and output may share bytes if every output reads all of its row."""
    x, output = bound.input(0), bound.output
    if x.dtype is not output.dtype:
        return ()
    size = x.dtype.size_bytes
    first = channels_out == 1
    rows, row, result = x.elements // channels_in, channels_in * size, channels_out * size
    return (over_pixels(rows, row, result, together=1, reads_first=first),)


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
        "wide": False,
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
    values = {
        **geometry,
        "accumulator": "int32_t",
        "bias_wraps": not folds and not bias_fits(bound),
        "wide": False,
        "input_zero_point": 0 if folds else bound.input(0).zero_point,
    }
    bias = folded_bias(bound) if folds else channel_bias(bound).astype(np.int32)
    return _quantized_call(bound, template, activation, values, bias, conv_requantization(bound))


def _int16_call(
    bound: BoundOperator[Any], template: str, activation: Activation, geometry: dict[str, Any]
) -> KernelCall:
    wide, short = is_wide(bound), accumulator_fits(bound)
    values = {
        **geometry,
        "accumulator": "int32_t" if short else "int64_t",
        "bias_wraps": not wide and not bias_fits(bound),
        "wide": wide,
        "input_zero_point": 0,
    }
    factors, bias = conv_requantization(bound), channel_bias(bound)
    if wide:
        # One shift to the right by 15 - shift, which is never negative here.
        multipliers = cut_multiplier(factors.multipliers).astype(np.int32)
        factors = Requantization(multipliers, 15 - factors.shifts)
    if (np.abs(bias) < 2**31).all():
        bias = bias.astype(np.int32)
    return _quantized_call(bound, template, activation, values, bias, factors)


def _quantized_call(
    bound: BoundOperator[Any],
    template: str,
    activation: Activation,
    values: dict[str, Any],
    bias: Array,
    factors: Requantization,
) -> KernelCall:
    per_channel = not factors.is_uniform
    count = None if per_channel else 1
    arrays = [("weights", bound.input(1).constant())]
    if bias.any():
        arrays.append(("bias", bias))
    arrays.append(("multiplier", factors.multipliers[:count]))
    arrays.append(("shift", factors.shifts[:count].astype(np.int8)))
    lowest, highest = activation_range(activation.bounds, bound.output)
    values |= {
        "is_float": False,
        "element": bound.input(0).dtype.c_type,
        "weight": "int8_t",
        "has_bias": bool(bias.any()),
        "per_channel": per_channel,
        "weight_zero_point": weight_zero_point(bound),
        "output_zero_point": bound.output.zero_point,
        "lowest": lowest,
        "highest": highest,
    }
    parameters = (
        input_parameter(bound.input(0)),
        *(
            constant_parameter(role, c_type_of(array), index)
            for index, (role, array) in enumerate(arrays)
        ),
        output_parameter(bound.output),
    )
    constants = tuple(Constant(role, array) for role, array in arrays)
    includes = ("requantize", "requantize_wide") if values["wide"] else ("requantize",)
    return KernelCall("reference", template, values, parameters, constants, includes=includes)


def c_type_of(array: Array) -> str:
    """Returns the C type of an integer array's elements."""
    return DType(str(array.dtype)).c_type


def float_values(activation: Activation) -> dict[str, Any]:
    """Returns what templates print of float arithmetic: types and the clamp, None for no bound."""
    lowest, highest = activation.bounds
    return {
        "is_float": True,
        "element": "float",
        "weight": "float",
        "accumulator": "float",
        "lowest": lowest if math.isfinite(lowest) else None,
        "highest": highest if math.isfinite(highest) else None,
    }
