"""SCATTER_ND in portable C: zeros, then a run of elements added per index."""

from __future__ import annotations

import math

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.scatter_nd import ScatterNdAttributes


def _lower(bound: BoundOperator[ScatterNdAttributes]) -> KernelCall:
    indices, updates, output = bound.input(0), bound.input(1), bound.output
    depth = indices.shape[-1]
    steps = row_major_strides(output.shape)[:depth]
    values = {
        "elements": output.elements,
        "count": math.prod(indices.shape[:-1]),
        "depth": depth,
        "axes": tuple(zip(output.shape, steps, strict=False)),
        "run": math.prod(output.shape[depth:]),
        "c_type": output.dtype.c_type,
        # Sums of integers wrap: C has that for unsigned ones only.
        "sum_type": "" if output.dtype is DType.FLOAT32 else _unsigned(output.dtype),
        "is_bool": output.dtype is DType.BOOL,
    }
    parameters = (
        input_parameter(indices, "indices", 0),
        input_parameter(updates, "updates", 1),
        output_parameter(output),
    )
    return KernelCall("reference", "scatter_nd", values, parameters)


def _unsigned(dtype: DType) -> str:
    return f"uint{8 * dtype.size_bytes}_t"


KERNEL = Kernel(operator="scatter_nd", supports=takes_anything, lower=_lower, cost=stated_cost)
