"""The call of a pooling."""

from __future__ import annotations

from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._layer import float_values
from uhost.kernels.reference._parameters import input_parameter, output_parameter
from uhost.kernels.reference._window import window_overlaps, window_values
from uhost.numerics.fixed_point import activation_range
from uhost.ops._pooling import PoolAttributes, window_axes


def supports_pool(bound: BoundOperator[Any]) -> str:
    """Returns "" or the reason the reference kernels cannot take a pooling."""
    dtype = bound.input(0).dtype
    return "" if dtype in (DType.INT8, DType.INT16, DType.FLOAT32) else f"no {dtype} arithmetic"


def pool_call(bound: BoundOperator[PoolAttributes], template: str) -> KernelCall:
    """Returns the call of a pooling whose template is `template`."""
    x, activation = bound.input(0), bound.attributes.activation
    rows, columns = window_axes(bound)
    overlaps = window_overlaps(bound, rows, columns)
    geometry = window_values(x.shape[0], x.shape[3], x.shape[3], rows, columns)
    if x.dtype is DType.FLOAT32:
        values = {**geometry, **float_values(activation), "least": "-3.4028235e+38f"}
        parameters = input_parameter(x), output_parameter(bound.output)
        return KernelCall("reference", template, values, parameters, overlaps=overlaps)
    lowest, highest = activation_range(activation.bounds, bound.output)
    clamps = (lowest, highest) != x.dtype.limits
    values = {
        **geometry,
        "is_float": False,
        "element": x.dtype.c_type,
        "least": f"{x.dtype.value.upper()}_MIN",
        "accumulator": "int32_t",
        "clamps": clamps,
        "shift": 128 if bound.attributes.unsigned and template == "average_pool_2d" else 0,
        "lowest": lowest,
        "highest": highest,
    }
    parameters = input_parameter(x), output_parameter(bound.output)
    includes = ("requantize",) if clamps else ()
    return KernelCall(
        "reference", template, values, parameters, includes=includes, overlaps=overlaps
    )
