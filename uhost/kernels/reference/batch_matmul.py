"""BATCH_MATMUL in portable C: one sum of products per output, along whatever strides."""

from __future__ import annotations

import math
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import (
    Loop,
    broadcast_strides,
    headers,
    index_expression,
    loop_nest,
    plus,
    row_major_strides,
)
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.numerics.fixed_point import cut_multiplier
from uhost.ops.batch_matmul import BatchMatmulAttributes, matmul_scaling, sizes_of

_WIDE, _NARROW = "uhost_multiply_wide", "uhost_multiply_by_quantized_multiplier"


def _lower(bound: BoundOperator[BatchMatmulAttributes]) -> KernelCall:
    first, second, output, at = bound.input(0), bound.input(1), bound.output, bound.attributes
    sizes = sizes_of(bound)
    row, along = (1, sizes.rows) if at.first_transposed else (sizes.depth, 1)
    column, down = (sizes.depth, 1) if at.second_transposed else (1, sizes.columns)
    batches = loop_nest(
        sizes.batches,
        _steps(first.shape, sizes.batches),
        _steps(second.shape, sizes.batches),
        tuple(step * sizes.rows * sizes.columns for step in row_major_strides(sizes.batches)),
    )
    loops = (
        *batches,
        *(Loop(n, s) for n, s in _inner(sizes.rows, sizes.columns, row, column) if n > 1),
    )
    values: dict[str, Any] = {
        "loops": headers(loops),
        "depth": sizes.depth,
        "first_at": index_expression(loops, 0),
        "second_at": index_expression(loops, 1),
        "output_at": index_expression(loops, 2),
        "along": along,
        "down": down,
        "first_type": first.dtype.c_type,
        "element": output.dtype.c_type,
        "is_float": output.dtype is DType.FLOAT32,
    }
    includes: tuple[str, ...] = ()
    if output.dtype is not DType.FLOAT32:
        multiplier, shift = matmul_scaling(bound)
        wide = output.dtype is DType.INT16
        low, high = output.dtype.limits
        values |= {
            "sum_type": "int64_t" if wide else "int32_t",
            "requantize": "uhost_multiply_wide"
            if wide
            else "uhost_multiply_by_quantized_multiplier",
            "multiplier": int(cut_multiplier(multiplier)) if wide else multiplier,
            "shift": 15 - shift if wide else shift,
            "first_offset": plus(-first.zero_point),
            "second_offset": plus(-second.zero_point),
            "output_offset": plus(output.zero_point),
            "lowest": low,
            "highest": high,
        }
        includes = ("requantize", "requantize_wide") if wide else ("requantize",)
    parameters = (
        input_parameter(first, "first", 0),
        input_parameter(second, "second", 1),
        output_parameter(output),
    )
    return KernelCall("reference", "batch_matmul", values, parameters, includes=includes)


def _steps(shape: tuple[int, ...], batches: tuple[int, ...]) -> tuple[int, ...]:
    """Returns an operand's strides along the axes in front, in elements."""
    matrix = math.prod(shape[-2:])
    return tuple(step * matrix for step in broadcast_strides(shape[:-2], batches))


def _inner(
    rows: int, columns: int, row: int, column: int
) -> tuple[tuple[int, tuple[int, int, int]], ...]:
    """Returns the loops over an output's rows and columns, as size and strides."""
    return (rows, (row, 0, columns)), (columns, (0, column, 1))


KERNEL = Kernel(operator="batch_matmul", supports=takes_anything, lower=_lower, cost=stated_cost)
