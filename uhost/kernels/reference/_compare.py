"""The call of a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, centred, lower_elements, scaled
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.numerics.fixed_point import quantize_multiplier
from uhost.ops._compare import LEFT_SHIFT, compared, unit_factors


def comparing(kind: str, sign: str) -> Kernel:
    """Returns the kernel of a comparison that C writes as `sign`."""

    def lower(bound: BoundOperator[Any]) -> KernelCall:
        first, second = bound.input(0), bound.input(1)
        if first.dtype is DType.INT16:
            p, q = (_times(name, n) for name, n in zip("ab", unit_factors(bound), strict=True))
            return lower_elements(bound, Expression(f"{p} {sign} {q}"))
        if first.dtype is not DType.INT8 or _is_order_kept(first, second):
            return lower_elements(bound, Expression(f"a {sign} b"))
        lines = (
            f"/* Both inputs in units of 2^-{LEFT_SHIFT}. */",
            f"const int32_t p = {_compared('a', first)};",
            f"const int32_t q = {_compared('b', second)};",
        )
        return lower_elements(bound, Expression(f"p {sign} q", lines, ("requantize",)))

    return Kernel(kind, takes_anything, lower, cost=stated_cost)


def _times(name: str, factor: int) -> str:
    return name if factor == 1 else f"(int64_t){name} * {factor}"


def _is_order_kept(first: Tensor, second: Tensor) -> bool:
    """True if what is compared of both inputs grows alike, and with every step."""
    if (first.scale, first.zero_point) != (second.scale, second.zero_point):
        return False
    low, high = first.dtype.limits
    steps = np.diff(compared(first, np.arange(low, high + 1)))
    return bool((steps > 0).all())


def _compared(name: str, tensor: Tensor) -> str:
    shifted = f"{centred(name, tensor)} * (1 << {LEFT_SHIFT})"
    return scaled(shifted, quantize_multiplier(tensor.scale))
