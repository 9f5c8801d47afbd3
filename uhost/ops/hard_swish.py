"""x · relu6(x + 3) / 6, which resembles x · logistic(x)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.hard_swish import hard_swish_factors, hard_swish_int8
from uhost.ops._checks import require
from uhost.ops._elementwise import (
    NoAttributes,
    arrays,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._op import Example, OperatorKind
from uhost.ops._rows import element_rows


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(DType.FLOAT32, DType.INT8)(bound)
    if bound.output.dtype is DType.INT8:
        (_, exponent), _ = hard_swish_factors(bound.input(0).scale, bound.output.scale)
        scales = f"{bound.output.scale:.9g} and {bound.input(0).scale:.9g}"
        require(exponent <= 0, f"the scales {scales} are too far apart")
    return found


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, output = arrays(inputs)[0], bound.output
    if output.dtype is DType.FLOAT32:
        three, six, zero = np.float32(3), np.float32(6), np.float32(0)
        return [values * np.minimum(np.maximum(zero, values + three), six) / six]
    offset = values.astype(np.int64) - bound.input(0).zero_point
    factors = hard_swish_factors(bound.input(0).scale, output.scale)
    return [hard_swish_int8(offset, *factors, output.zero_point).astype(np.int8)]


def _examples() -> Iterator[Example]:
    yield example("hard_swish", "float32", DType.FLOAT32, ((3, 50),))
    for name, scale, zero_point, output in (
        ("", 0.05, 3, (0.04, -110)),
        ("_coarse", 0.3, -20, (0.2, -125)),
        ("_fine", 0.002, 0, (0.001, 0)),
        ("_equal", 0.0469, -100, (0.0469, -100)),
    ):
        yield example(
            "hard_swish",
            f"int8{name}",
            DType.INT8,
            ((2, 128),),
            scales=(scale,),
            zero_points=(zero_point,),
            output=output,
        )


OPERATOR = OperatorKind(
    name="hard_swish",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"HARD_SWISH": import_plain(1)}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    is_channelwise=lambda bound: True,
)
