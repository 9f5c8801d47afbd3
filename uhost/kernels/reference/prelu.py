"""PRELU in portable C, with any broadcasting."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import (
    Expression,
    centred,
    lower_elements,
    quantized_result,
    scaled,
)
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.prelu import PreluAttributes, prelu_scaling


def _lower(bound: BoundOperator[PreluAttributes]) -> KernelCall:
    output = bound.output
    if output.dtype is DType.FLOAT32:
        return lower_elements(bound, Expression("a >= 0.0f ? a : a * b"))
    above, below = prelu_scaling(bound)
    factor = centred("b", bound.input(1))
    lines = (
        f"const int32_t value = {centred('a', bound.input(0))};",
        "const int32_t scaled =",
        f"    value >= 0 ? {scaled('value', above)}",
        f"               : {scaled(f'value * {factor}', below)};",
    )
    result = quantized_result("scaled", output)
    return lower_elements(bound, Expression(result, lines, ("requantize",)))


KERNEL = Kernel("prelu", takes_anything, _lower, cost=stated_cost)
