"""Exponential linear unit: x, or exp(x) - 1 where x is negative.

int8 follows the table of TFLite Micro, which is made in float32 and rounds ties away from
zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._elementwise import (
    NoAttributes,
    arrays,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._float_table import through_float
from uhost.ops._op import Example, OperatorKind


def _elu(x: Array) -> Array:
    return np.where(x < 0, np.exp(np.minimum(x, 0)) - np.float32(1), x)


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values = arrays(inputs)[0]
    if values.dtype == np.float32:
        return [np.where(values < 0, np.expm1(np.minimum(values, 0)), values)]
    return [through_float(bound, values, _elu)]


def _examples() -> Iterator[Example]:
    yield example("elu", "float32", DType.FLOAT32, ((3, 50),))
    for name, scale, zero_point, output in (
        ("", 0.05, 3, (0.03, -95)),
        ("_equal", 0.1, -118, (0.1, -118)),
        ("_wide", 0.4, 0, (0.2, -7)),
    ):
        yield example(
            "elu",
            f"int8{name}",
            DType.INT8,
            ((2, 128),),
            scales=(scale,),
            zero_points=(zero_point,),
            output=output,
        )


OPERATOR = OperatorKind(
    name="elu",
    attributes=NoAttributes,
    infer=infer_elements(DType.FLOAT32, DType.INT8),
    reference=_reference,
    importers={"tflite": {"ELU": import_plain(1)}},
    examples=_examples,
    is_channelwise=lambda bound: True,
)
