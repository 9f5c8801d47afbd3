"""Where an interpreter is no oracle for an element-wise or reducing operator, and why."""

from __future__ import annotations

from collections.abc import Mapping

import oracle_limits_movement as movement

from uhost.ops._op import Example

Limits = Mapping[tuple[str, str], str]

_ABSENT = "there is no such operator"
_NO_TYPE = "refused at run time"
_BY_ZERO = "a division by 0 ends the run, or is undefined"
_SHIFTS = "shifts of more than 31 bits are undefined"
_NEGATIVE = "a negative number ends the run"
_ZERO_POINTS = "the zero point is subtracted once too often"
_FLOAT_FACTOR = "the factor is formed in float32"
_RAW_SUM = "raw numbers are added, and wrap"
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_WIDE_OR_OLD = ("uint8", "int64", "uint64")

TFLM: Limits = {
    **movement.TFLM,
    **{(kind, ""): _ABSENT for kind in ("select", "gelu", "reduce_any", "reduce_prod")},
    **{
        (kind, dtype): _NO_TYPE
        for kind, types in (
            ("sub", ("int64",)),
            ("mul", ("int64",)),
            ("abs", ("int32",)),
            ("neg", ("int32", "int64")),
            ("floor_div", ("int32",)),
            ("floor_mod", ("int32", "int64")),
            ("add_n", ("int32",)),
            ("cumsum", ("int32", "int64")),
            ("sum", ("int32", "int64")),
            ("reduce_max", ("int16", "int32", "int64")),
            ("reduce_min", ("int16", "int32", "int64")),
            ("arg_max", ("int32", "int64")),
            ("arg_min", ("int32", "int64")),
            ("fill", ("int16", "int64", "bool")),
        )
        for dtype in types
    },
    **{("add_n", name): _ZERO_POINTS for name in ("int8_zero_point", "int8_many")},
    **{("cumsum", name): _ZERO_POINTS for name in ("int8_zero_point", "int8_long")},
    ("zeros_like", "int8_zero_point"): "the zero point is ignored",
    ("div", "int32_zero"): _BY_ZERO,
    ("div", "int32_lowest"): "the program ends",
    ("div", "int8_zero"): _BY_ZERO,
    ("div", "int8_every_near"): _SHIFTS,
    ("rsqrt", "int8_negatives"): _NEGATIVE,
    ("select_v2", "int32"): _NO_TYPE,
    ("select_v2", "int64"): _NO_TYPE,
    ("select_v2", "bool"): _NO_TYPE,
    **{("cast", f"{way}{dtype}"): _NO_TYPE for way in ("", "to_") for dtype in _WIDE_OR_OLD},
    **{(kind, "int16"): "absent, or compared with parameters never set" for kind in _COMPARISONS},
    **{(kind, "int8_scale_above_1"): "the program ends" for kind in _COMPARISONS},
}
LITERT: Limits = {
    **movement.LITERT,
    **{(kind, ""): _ABSENT for kind in ("ceil", "round", "elu")},
    ("cast", "uint64"): _NO_TYPE,
    ("cast", "to_uint64"): _NO_TYPE,
    ("squared_difference", "int16"): _NO_TYPE,
    ("add_n", "int8"): _NO_TYPE,
    ("cumsum", "int8"): _NO_TYPE,
    ("zeros_like", "int8"): _NO_TYPE,
    ("div", "int32_zero"): _BY_ZERO,
    ("div", "int8_zero"): _BY_ZERO,
    ("div", "int8_every_near"): _SHIFTS,
    ("floor_div", "int32_zero"): _BY_ZERO,
    ("floor_mod", "int32_zero"): _BY_ZERO,
    ("floor_div", "int32_lowest"): "the quotient wraps",
    ("floor_mod", "int32_lowest"): "the program ends",
    ("rsqrt", "int8_negatives"): _NEGATIVE,
    ("rsqrt", "int16"): "another arithmetic",
    ("leaky_relu", "int8_above_1"): _FLOAT_FACTOR,
    ("leaky_relu", "int16"): _FLOAT_FACTOR,
    ("prelu", "int16"): _FLOAT_FACTOR,
    ("abs", "int16"): _FLOAT_FACTOR,
    ("sum", "int8"): _RAW_SUM,
    ("sum", "int16"): _RAW_SUM,
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
