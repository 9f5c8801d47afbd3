"""Where an interpreter is no oracle for an element-wise or reducing operator, and why."""

from __future__ import annotations

from collections.abc import Mapping

import oracle_limits_movement as movement

from uhost.ops._op import Example

Limits = Mapping[tuple[str, str], str]

_ABSENT = "there is no such operator"
_NO_TYPE = "refused at run time"
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_WIDE_OR_OLD = ("uint8", "int64", "uint64")

TFLM: Limits = {
    **movement.TFLM,
    ("sub", "int64"): _NO_TYPE,
    ("mul", "int64"): _NO_TYPE,
    ("select", ""): _ABSENT,
    ("select_v2", "int32"): _NO_TYPE,
    ("select_v2", "int64"): _NO_TYPE,
    ("select_v2", "bool"): _NO_TYPE,
    **{("cast", f"{way}{dtype}"): _NO_TYPE for way in ("", "to_") for dtype in _WIDE_OR_OLD},
    **{(kind, "int16"): "absent, or compared with parameters never set" for kind in _COMPARISONS},
    **{(kind, "int8_scale_above_1"): "the program ends" for kind in _COMPARISONS},
}
LITERT: Limits = {
    **movement.LITERT,
    ("cast", "uint64"): _NO_TYPE,
    ("cast", "to_uint64"): _NO_TYPE,
    ("squared_difference", "int16"): _NO_TYPE,
    **{
        (kind, name): "raw numbers of different scales are compared"
        for kind in _COMPARISONS
        for name in ("int16_scales_0", "int16_scales_1")
    },
    **{(kind, "int8_scale_above_1"): "such a scale is taken for another" for kind in _COMPARISONS},
}
"""(operator, example, or type) → the reason; "" stands for all of an operator's examples."""


def limit(oracle: Limits, kind: str, example: Example) -> str:
    """Returns why the oracle does not serve for an example, or ""."""
    for name in (example.name, *example.tags, ""):
        if (kind, name) in oracle:
            return oracle[kind, name]
    return ""
