"""CAST in portable C."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._elementwise import NoAttributes
from uhost.ops.cast import cast_limits


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    source, made = bound.input(0).dtype, bound.output.dtype
    if made is source:
        return lower_elements(bound, Expression("x"))
    if made is DType.BOOL:
        return lower_elements(bound, Expression("x != 0"))
    if source is not DType.FLOAT32 or not made.is_integer:
        return lower_elements(bound, Expression(f"({made.c_type})x"))
    low, high = cast_limits(made)
    lines = (
        f"{made.c_type} whole = 0; /* of a NaN, too */",
        "",
        f"if (x >= {high!r}f) {{",
        f"    whole = {made.value.upper()}_MAX;",
        f"}} else if (x <= {low!r}f) {{",
        f"    whole = {made.value.upper()}_MIN;",
        "} else if (x == x) {",
        f"    whole = ({made.c_type})x;",
        "}",
    )
    return lower_elements(bound, Expression("whole", lines))


KERNEL = Kernel("cast", takes_anything, _lower)
