"""RELU and RELU6: a clamp in float32, a clamp or a table in int8."""

from __future__ import annotations

import math
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall
from uhost.kernels._overlap import by_element
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import input_parameter, output_parameter
from uhost.ops._op import Activation


def lower_rectifier(bound: BoundOperator[Any], activation: Activation) -> KernelCall:
    """Returns the call of an operator that clamps to `activation`'s interval."""
    source = bound.input(0)
    if source.dtype is not DType.FLOAT32:
        return lower_lookup(bound)
    low, high = activation.bounds
    values = {
        "elements": source.elements,
        "c_type": "float",
        "lowest": f"{low}f",
        "highest": f"{high}f" if math.isfinite(high) else "",
    }
    return KernelCall(
        "reference",
        "clamp",
        values,
        (input_parameter(source), output_parameter(bound.output)),
        overlaps=(by_element(bound),),
    )
