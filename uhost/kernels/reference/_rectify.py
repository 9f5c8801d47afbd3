"""RELU and its kin: a clamp, or a table in int8 and arithmetic in int16 where scales differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall
from uhost.kernels._overlap import by_element
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import input_parameter, output_parameter
from uhost.numerics.fixed_point import activation_range
from uhost.ops._op import Activation
from uhost.ops._rectify import rectifier_scaling


def lower_rectifier(bound: BoundOperator[Any], activation: Activation) -> KernelCall:
    """Returns the call of an operator that clamps to `activation`'s interval."""
    source = bound.input(0)
    if source.dtype is DType.INT8:
        return lower_lookup(bound)
    if source.dtype is DType.INT16:
        return _int16_call(bound, activation)
    low, high = activation.bounds
    values = {
        "elements": source.elements,
        "c_type": "float",
        "lowest": f"{low}f",
        "highest": f"{high}f" if math.isfinite(high) else "",
    }
    return KernelCall(
        "reference",
        "clamp",
        values,
        (input_parameter(source), output_parameter(bound.output)),
        overlaps=(by_element(bound),),
    )


def _int16_call(bound: BoundOperator[Any], activation: Activation) -> KernelCall:
    source, output = bound.input(0), bound.output
    pointers = input_parameter(source), output_parameter(output)
    lowest, highest = activation_range(activation.bounds, output)
    if source.scale == output.scale:
        limits = np.iinfo(np.int16)
        values: dict[str, Any] = {
            "elements": source.elements,
            "c_type": output.dtype.c_type,
            "lowest": str(lowest) if lowest > limits.min else "",
            "highest": str(highest) if highest < limits.max else "",
        }
        return KernelCall("reference", "clamp", values, pointers, overlaps=(by_element(bound),))
    multiplier, shift = rectifier_scaling(bound)
    values = {
        "elements": source.elements,
        "c_type": output.dtype.c_type,
        "input_offset": "",
        "multiplier": multiplier,
        "shift": shift,
        "output_offset": "",
        "lowest": lowest,
        "highest": highest,
        "clamps": True,
    }
    return KernelCall(
        "reference",
        "requantize",
        values,
        pointers,
        includes=("requantize",),
        overlaps=(by_element(bound),),
    )
