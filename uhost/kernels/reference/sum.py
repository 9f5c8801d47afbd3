"""SUM in portable C."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import quantized_result, scaled
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import plus
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._reduce import Fold, lower_fold
from uhost.ops._elementwise import QUANTIZED
from uhost.ops._reduce import ReduceAttributes, reduced_count
from uhost.ops.sum import sum_factor


def _lower(bound: BoundOperator[ReduceAttributes]) -> KernelCall:
    dtype, axes = bound.output.dtype, bound.attributes.axes
    if dtype is DType.FLOAT32:
        return lower_fold(bound, axes, Fold("float", "0.0f", "made += @;", "made"))
    if dtype not in QUANTIZED:
        # Unsigned, so that an overflow wraps.
        wraps = f"u{dtype.c_type}"
        fold = Fold(wraps, "0", f"made += ({wraps})@;", f"({dtype.c_type})made")
        return lower_fold(bound, axes, fold)
    offset = plus(-bound.input(0).zero_point * reduced_count(bound))
    lines = (f"made = {scaled(f'made{offset}', sum_factor(bound))};",)
    result = quantized_result("made", bound.output)
    fold = Fold("int32_t", "0", "made += @;", result, lines, ("requantize",))
    return lower_fold(bound, axes, fold)


KERNEL = Kernel("sum", takes_anything, _lower, cost=stated_cost)
