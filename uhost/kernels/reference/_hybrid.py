"""Layers of float32 activations and int8 weights: every sample is made int8 first, in scratch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._quantize import channel_weights
from uhost.kernels.reference._layer import float_values
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
)
from uhost.ops._op import Activation
from uhost.ops._weighted import hybrid_scales, is_hybrid
from uhost.targets._work import Work

_LARGEST_DISTANCE = 255
"""Of an int8 number from its zero point."""


def supports_hybrid(bound: BoundOperator[Any]) -> str:
    """Returns "" or the reason the hybrid kernels cannot take a layer of weights."""
    if not is_hybrid(bound):
        return "not float32 activations with int8 weights"
    if (abs(channel_weights(bound)).sum(axis=1) * _LARGEST_DISTANCE >= 2**31).any():
        return "a sum of products may leave 32 bits"
    return ""


def hybrid_call(
    bound: BoundOperator[Any],
    template: str,
    activation: Activation,
    geometry: Mapping[str, Any],
    *,
    sample: int,
    symmetric: bool,
) -> KernelCall:
    """Returns the call of a hybrid layer whose samples have `sample` elements.

    `symmetric` samples have the zero point 0. The template prints `scale` where the weights
    have one, and reads `scales[channel]` where it is None.
    """
    weights, bias, scales = bound.input(1), bound.optional_input(2), hybrid_scales(bound)
    per_channel = scales.size > 1
    constants = [Constant("weights", weights.constant())]
    parameters = [input_parameter(bound.input(0)), constant_parameter("weights", "int8_t", 0)]
    floats = {"scales": scales if per_channel else None}
    floats["bias"] = bias.constant().reshape(-1) if bias is not None else None
    for role, values in floats.items():
        if values is not None:
            parameters.append(constant_parameter(role, "float", len(constants)))
            constants.append(Constant(role, values))
    return KernelCall(
        "reference",
        template,
        {
            **geometry,
            **float_values(activation),
            "sample": sample,
            "has_bias": bias is not None,
            "scale": None if per_channel else float(scales[0]),
            "symmetric": symmetric,
        },
        (
            *parameters,
            Parameter("quantized", "int8_t *", "scratch"),
            output_parameter(bound.output),
        ),
        tuple(constants),
        scratch_bytes=sample,
        includes=(f"quantize_sample_{'symmetric' if symmetric else 'asymmetric'}",),
    )


def quantizing(elements: int, *, symmetric: bool) -> Work:
    """Returns how a sample is made int8, on a core whose FPU has no double precision.

    Which way an element is rounded decides a few instructions of it: this is a mean.
    """
    if symmetric:
        each = Work(load=2, store=1, float_alu=11, float_multiply=1, alu=13, branch=3, untaken=2)
        return each * elements + Work(float_alu=8, float_multiply=2, alu=14, load=4, branch=2)
    # Comparisons and divisions in double are calls.
    each = Work(load=10, store=7, float_alu=9, float_multiply=1, alu=84, branch=12, untaken=7)
    return each * elements + Work(alu=1900, load=150, store=150, branch=200, untaken=200)


def finishing(values: Mapping[str, Any]) -> Work:
    """Returns what makes an output of a sum: scale, bias, clamp."""
    bounds = sum(values[bound] is not None for bound in ("lowest", "highest"))
    work = Work(float_alu=2, float_multiply=2, store=1, alu=1)
    work += Work(float_alu=2, alu=1) * bounds
    return work + Work(load=1, float_alu=1) if values["has_bias"] else work


def finishing_bytes(values: Mapping[str, Any]) -> int:
    """Returns the code of the clamp of `finishing`."""
    return 20 * sum(values[bound] is not None for bound in ("lowest", "highest"))
