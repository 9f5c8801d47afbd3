"""CONV_2D of float32 images with int8 weights: each image is made int8 first, in scratch."""

from __future__ import annotations

import math
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._quantize import channel_weights
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._layer import float_values
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
)
from uhost.kernels.reference._window import window_values
from uhost.ops._weighted import hybrid_scales, is_hybrid
from uhost.ops.conv_2d import Conv2DAttributes, groups, window_axes

_LARGEST_DISTANCE = 255
"""Of an int8 number from its zero point."""


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    if not is_hybrid(bound):
        return "not float32 activations with int8 weights"
    if (abs(channel_weights(bound)).sum(axis=1) * _LARGEST_DISTANCE >= 2**31).any():
        return "a sum of products may leave 32 bits"
    return ""


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    x, weights, bias = bound.input(0), bound.input(1), bound.optional_input(2)
    scales = hybrid_scales(bound)
    per_channel = scales.size > 1
    image = math.prod(x.shape[1:])
    constants = [Constant("weights", weights.constant())]
    parameters = [input_parameter(x), constant_parameter("weights", "int8_t", 0)]
    floats = {"scales": scales if per_channel else None}
    floats["bias"] = bias.constant().reshape(-1) if bias is not None else None
    for role, values in floats.items():
        if values is not None:
            parameters.append(constant_parameter(role, "float", len(constants)))
            constants.append(Constant(role, values))
    values_: dict[str, Any] = {
        **window_values(x.shape[0], x.shape[3], weights.shape[0], *window_axes(bound)),
        **float_values(bound.attributes.activation),
        "groups": groups(bound),
        "filter_channels": weights.shape[3],
        "image": image,
        "has_bias": bias is not None,
        "scale": None if per_channel else float(scales[0]),
    }
    return KernelCall(
        "reference",
        "conv_2d_hybrid",
        values_,
        (
            *parameters,
            Parameter("quantized", "int8_t *", "scratch"),
            output_parameter(bound.output),
        ),
        tuple(constants),
        scratch_bytes=image,
        includes=(f"quantize_sample_{'asymmetric' if per_channel else 'symmetric'}",),
    )


KERNEL = Kernel("conv_2d", _supports, _lower, cost=stated_cost, is_fallback=True)
