"""RESIZE_BILINEAR in portable C: places and weights of rows and columns are tables."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.ops._resize import ResizeAttributes
from uhost.ops.resize_bilinear import ONE, UNSIGNED_OFFSET, between, between_floats


def _lower(bound: BoundOperator[ResizeAttributes]) -> KernelCall:
    source, output, at = bound.input(0), bound.output, bound.attributes
    batches, height, width, channels = source.shape
    is_float = source.dtype is DType.FLOAT32
    is_unsigned = source.dtype is DType.INT8 and at.unsigned
    find = between_floats if is_float or is_unsigned else between
    rows, columns = (find(at, axis, source.shape[1 + axis]) for axis in (0, 1))
    past = np.float32 if is_float or is_unsigned else np.int32
    line = width * channels
    tables = {
        "rows": np.stack([rows.lower * line, rows.upper * line], 1).astype(np.int32),
        "columns": np.stack([columns.lower * channels, columns.upper * channels], 1).astype(
            np.int32
        ),
        "down": rows.past.astype(past),
        "across": columns.past.astype(past),
    }
    values = {
        "batches": batches,
        "rows": output.shape[1],
        "columns": output.shape[2],
        "channels": channels,
        "image": height * line,
        "c_type": source.dtype.c_type,
        "is_float": is_float,
        "unsigned_offset": UNSIGNED_OFFSET if is_unsigned else 0,
        # The sum is below 2^22 times an element.
        "sum_type": "int64_t" if source.dtype is DType.INT16 else "int32_t",
        "one": ONE,
        "half": ONE * ONE // 2,
        "whole": ONE * ONE,
    }
    constants = tuple(Constant(role, table) for role, table in tables.items())
    past_type = "float" if is_float or is_unsigned else "int32_t"
    types = ("int32_t", "int32_t", past_type, past_type)
    parameters = [
        constant_parameter(role, ctype, index)
        for index, (role, ctype) in enumerate(zip(tables, types, strict=True))
    ]
    return KernelCall(
        "reference",
        "resize_bilinear",
        values,
        (input_parameter(source), *parameters, output_parameter(output)),
        constants=constants,
    )


KERNEL = Kernel(operator="resize_bilinear", supports=takes_anything, lower=_lower, cost=stated_cost)
