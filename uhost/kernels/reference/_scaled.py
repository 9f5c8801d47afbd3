"""The C that takes two quantised inputs to a common scale."""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels.reference._elements import centred, scaled
from uhost.ops._common_scale import CommonScale


def common_scale_lines(bound: BoundOperator[Any], scaling: CommonScale) -> tuple[str, ...]:
    """Returns the lines that make `p` of `a` and `q` of `b`."""
    shift = scaling.left_shift
    times = f" * (1 << {shift})" if shift else ""
    first, second = (centred(name, bound.input(i)) + times for i, name in enumerate("ab"))
    up = f", {shift} bits up" if shift else ""
    return (
        f"/* Both inputs at a common scale of twice the larger one{up}. */",
        f"const int32_t p = {scaled(first, scaling.first)};",
        f"const int32_t q = {scaled(second, scaling.second)};",
    )
