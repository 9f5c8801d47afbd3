"""GATHER_ND in portable C: a run of elements per index."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.gather_nd import GatherNdAttributes


def _lower(bound: BoundOperator[GatherNdAttributes]) -> KernelCall:
    source, indices, output = bound.input(0), bound.input(1), bound.output
    depth = indices.shape[-1]
    run = math.prod(source.shape[depth:])
    steps = row_major_strides(source.shape)[:depth]
    values = {
        "count": math.prod(indices.shape[:-1]),
        "depth": depth,
        "axes": tuple((size - 1, step) for size, step in zip(source.shape, steps, strict=False)),
        "run": run,
        "run_bytes": run * output.dtype.size_bytes,
    }
    return KernelCall(
        "reference",
        "gather_nd",
        values,
        (
            input_parameter(source),
            input_parameter(indices, "indices", 1),
            output_parameter(output),
        ),
        includes=("clamp_index", *(("copy_run",) if run > 1 else ())),
    )


KERNEL = Kernel(operator="gather_nd", supports=takes_anything, lower=_lower, cost=stated_cost)
