"""DYNAMIC_UPDATE_SLICE in portable C: the tensor, unless it lies there already, then the box."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import in_place
from uhost.kernels.reference._copy import Piece, loops_and_run
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import headers, index_expression, row_major_strides
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.dynamic_update_slice import DynamicUpdateSliceAttributes


def _lower(bound: BoundOperator[DynamicUpdateSliceAttributes]) -> KernelCall:
    whole, update, start = bound.input(0), bound.input(1), bound.input(2)
    steps = row_major_strides(whole.shape)
    loops, run = loops_and_run(Piece(update.shape, row_major_strides(update.shape), steps))
    values = {
        "bytes": whole.size_bytes,
        "axes": tuple(
            (axis, room - size, step)
            for axis, (room, size, step) in enumerate(
                zip(whole.shape, update.shape, steps, strict=True)
            )
            if room > size
        ),
        "loops": headers(loops),
        "update_at": index_expression(loops, 0),
        "output_at": index_expression(loops, 1),
        "run_bytes": run * update.dtype.size_bytes,
    }
    parameters = (
        input_parameter(whole, "input", 0),
        input_parameter(update, "update", 1),
        input_parameter(start, "start", 2),
        output_parameter(bound.output),
    )
    return KernelCall(
        "reference",
        "dynamic_update_slice",
        values,
        parameters,
        includes=("clamp_index", "copy_run"),
        overlaps=(in_place(),),
    )


KERNEL = Kernel(
    operator="dynamic_update_slice", supports=takes_anything, lower=_lower, cost=stated_cost
)
