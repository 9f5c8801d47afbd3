"""SOFTMAX in portable C.

In int8 the exponentials of all distances to a row's maximum are a table, computed when
the code is generated; entries too small to change a sum or an output are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.numerics.softmax import softmax_exponentials
from uhost.numerics.softmax_int16 import (
    WHOLE,
    difference_scaling,
    exponential_table,
    reciprocal_table,
)
from uhost.ops.softmax import SoftmaxAttributes
from uhost.targets._work import Work

_NEGLIGIBLE = 1 << 11
"""Below it an exponential in Q0.31 rounds to 0 in the Q12.19 sum, and its output to 0."""


def _table(bound: BoundOperator[SoftmaxAttributes]) -> NDArray[np.int32]:
    values = softmax_exponentials(bound.attributes.beta, bound.input(0).scale)
    count = 1 + int(np.flatnonzero(values >= _NEGLIGIBLE)[-1])
    return values[:count]


def _lower(bound: BoundOperator[SoftmaxAttributes]) -> KernelCall:
    source = bound.input(0)
    depth = source.shape[-1]
    values: dict[str, Any] = {"rows": source.elements // depth, "depth": depth}
    pointers = input_parameter(source), output_parameter(bound.output)
    if source.dtype is DType.FLOAT32:
        return KernelCall(
            "reference",
            "softmax_float32",
            {**values, "beta": bound.attributes.beta},
            pointers,
            includes=("float_exp",),
        )
    if source.dtype is DType.INT16:
        return _int16_call(bound, values)
    table, output = _table(bound), bound.output.dtype
    values |= {
        "c_type": output.c_type,
        "entries": table.size,
        "bits": 8 * output.size_bytes,
        "lowest": output.limits[0],
        "highest": output.limits[1],
    }
    return KernelCall(
        "reference",
        "softmax_int8",
        values,
        (pointers[0], constant_parameter("exponentials", "int32_t"), pointers[1]),
        constants=(Constant("exponentials", table),),
        includes=("requantize", "softmax"),
    )


def _int16_call(bound: BoundOperator[SoftmaxAttributes], values: dict[str, Any]) -> KernelCall:
    source = bound.input(0)
    multiplier, shift = difference_scaling(bound.attributes.beta, source.scale)
    return KernelCall(
        "reference",
        "softmax_int16",
        {**values, "multiplier": multiplier, "shift": shift, "whole": WHOLE},
        (
            input_parameter(source),
            constant_parameter("exponentials", "int16_t", 0),
            constant_parameter("reciprocals", "int16_t", 1),
            output_parameter(bound.output),
        ),
        constants=(
            Constant("exponentials", exponential_table()),
            Constant("reciprocals", reciprocal_table()),
        ),
        includes=("requantize", "table_int16"),
    )


def _cost(_bound: BoundOperator[SoftmaxAttributes], call: KernelCall) -> Cost:
    """Returns a mean: what a row takes depends on how far apart its values are.

    Twelve int8 values took 511 to 667 instructions. The float form is that of a core with an
    FPU.
    """
    element, row, code = {
        "softmax_int8": (Work(alu=31, load=6, store=1, multiply=1, branch=3), 105, 335),
        "softmax_int16": (Work(alu=26, load=6, store=2, multiply=2, branch=3), 145, 330),
        "softmax_float32": (Work(float_alu=24, float_multiply=12, alu=9, load=7, branch=4), 5, 300),
    }[call.template]
    rows, depth = call.values["rows"], call.values["depth"]
    return Cost((element * depth + Work(alu=row)) * rows + Work(alu=6, load_many=2), code)


KERNEL = Kernel(operator="softmax", supports=takes_anything, lower=_lower, cost=_cost)
