"""L2_NORMALIZATION in portable C."""

from __future__ import annotations

from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import plus
from uhost.kernels.reference._parameters import (
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.ops.l2_normalization import OUTPUT_BITS, L2NormalizationAttributes


def _lower(bound: BoundOperator[L2NormalizationAttributes]) -> KernelCall:
    source, output = bound.input(0), bound.output
    depth = source.shape[-1]
    values: dict[str, Any] = {"rows": source.elements // depth, "depth": depth}
    parameters = input_parameter(source), output_parameter(output)
    if source.dtype is DType.FLOAT32:
        return KernelCall(
            "reference", "l2_normalization_float32", values, parameters, includes=("float_sqrt",)
        )
    values |= {"offset": plus(-source.zero_point), "bits": OUTPUT_BITS}
    values |= {"unsigned": bound.attributes.unsigned}
    return KernelCall(
        "reference",
        "l2_normalization_int8",
        values,
        parameters,
        includes=("requantize", "root_inverse"),
    )


KERNEL = Kernel("l2_normalization", takes_anything, _lower, cost=stated_cost)
