"""RESIZE_NEAREST_NEIGHBOR in portable C: one copy where steps are even, else by tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.ops._resize import ResizeAttributes
from uhost.ops.resize_nearest_neighbor import nearest


def _lower(bound: BoundOperator[ResizeAttributes]) -> KernelCall:
    source, output, at = bound.input(0), bound.output, bound.attributes
    batches, rows, columns, channels = source.shape
    lines, pixels = (nearest(at, axis, source.shape[1 + axis]) for axis in (0, 1))
    even = _even(lines), _even(pixels)
    if even[0] is not None and even[1] is not None:
        (down, first_row, row_step), (across, first_column, column_step) = even[0], even[1]
        shape = (batches, *down, *across, channels)
        line = columns * channels
        piece = Piece(
            shape,
            (rows * line, row_step * line, 0, column_step * channels, 0, 1),
            row_major_strides(shape),
            source_start=first_row * line + first_column * channels,
        )
        return lower_copies(bound, [piece])
    values = {
        "batches": batches,
        "rows": output.shape[1],
        "columns": output.shape[2],
        "channels": channels,
        "image": rows * columns * channels,
        "run_bytes": channels * output.dtype.size_bytes,
    }
    tables = lines * (columns * channels), pixels * channels
    return KernelCall(
        "reference",
        "resize_nearest_neighbor",
        values,
        (
            input_parameter(source),
            constant_parameter("rows", "int32_t", 0),
            constant_parameter("columns", "int32_t", 1),
            output_parameter(output),
        ),
        constants=tuple(
            Constant(role, table.astype(np.int32))
            for role, table in zip(("rows", "columns"), tables, strict=True)
        ),
        includes=("copy_run",),
    )


def _even(places: NDArray[np.int64]) -> tuple[Sequence[int], int, int] | None:
    """Returns (times, repetitions of each), the first place and the step, where they are even."""
    steps = np.flatnonzero(np.diff(places)) + 1
    repeats = int(steps[0]) if len(steps) else len(places)
    if len(places) % repeats:
        return None
    distinct = places[::repeats]
    gaps = set(np.diff(distinct).tolist())
    if len(gaps) > 1 or not np.array_equal(np.repeat(distinct, repeats), places):
        return None
    return (len(distinct), repeats), int(places[0]), gaps.pop() if gaps else 0


KERNEL = Kernel(
    operator="resize_nearest_neighbor", supports=takes_anything, lower=_lower, cost=stated_cost
)
