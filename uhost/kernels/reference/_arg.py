"""The kernel of ARG_MAX and ARG_MIN."""

from __future__ import annotations

import math
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import (
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.ops._arg import ArgAttributes


def arg_kernel(kind: str, sign: str) -> Kernel:
    """Returns the kernel that moves on where a comparison by `sign` holds."""

    def lower(bound: BoundOperator[ArgAttributes]) -> KernelCall:
        source, axis = bound.input(0), bound.attributes.axis
        values: dict[str, Any] = {
            "outer": math.prod(source.shape[:axis]),
            "size": source.shape[axis],
            "inner": math.prod(source.shape[axis + 1 :]),
            "c_type": source.dtype.c_type,
            "sign": sign,
        }
        parameters = input_parameter(source), output_parameter(bound.output)
        return KernelCall("reference", "arg", values, parameters)

    return Kernel(kind, takes_anything, lower, cost=stated_cost)
