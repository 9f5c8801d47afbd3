"""The hyperbolic tangent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.logistic import tanh_int16
from uhost.numerics.tanh import tanh_int8, tanh_int16_factor
from uhost.ops._checks import require
from uhost.ops._elementwise import (
    QUANTIZED,
    NoAttributes,
    arrays,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._interval import elementwise
from uhost.ops._op import Example, OperatorKind
from uhost.ops._rows import element_rows

OUTPUTS = {DType.INT8: (2.0**-7, 0), DType.INT16: (2.0**-15, 0)}
"""The only quantisation that the tangent writes, by type."""


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(DType.FLOAT32, *QUANTIZED)(bound)
    source, output = bound.input(0), bound.output
    if source.dtype in OUTPUTS:
        scale, zero_point = OUTPUTS[source.dtype]
        require(
            (output.scale, output.zero_point) == (scale, zero_point),
            f"'{output.name}' has scale {output.scale:.9g} and zero point {output.zero_point}, "
            f"not {scale:.9g} and {zero_point}",
        )
    if source.dtype is DType.INT8:
        require(source.scale > 2.0**-27, f"'{source.name}' has the scale {source.scale:.9g}")
    if source.dtype is DType.INT16:
        multiplier, _ = tanh_int16_factor(source.scale)
        require(multiplier < 2**16, f"'{source.name}' has the scale {source.scale:.9g}")
    return found


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, source = arrays(inputs)[0], bound.input(0)
    if source.dtype is DType.FLOAT32:
        return [np.tanh(values)]
    if source.dtype is DType.INT8:
        shifted = values.astype(np.int64) - source.zero_point
        return [tanh_int8(shifted, source.scale).astype(np.int8)]
    return [tanh_int16(values, *tanh_int16_factor(source.scale)).astype(np.int16)]


def _examples() -> Iterator[Example]:
    yield example("tanh", "float32", DType.FLOAT32, ((3, 50),))
    for name, scale, zero_point in (("", 0.03, 11), ("_saturating", 1.7, -100), ("_fine", 4e-4, 3)):
        yield example(
            "tanh",
            f"int8{name}",
            DType.INT8,
            ((4, 64),),
            scales=(scale,),
            zero_points=(zero_point,),
            output=OUTPUTS[DType.INT8],
        )
    scales = {"_q3_12": 2.0**-12, "_q4_11": 2.0**-11, "": 3.1e-4, "_coarse": 0.9, "_fine": 3e-7}
    for name, scale in scales.items():
        wide = DType.INT16
        yield example(
            "tanh", f"int16{name}", wide, ((3, 700),), scales=(scale,), output=OUTPUTS[wide]
        )


OPERATOR = OperatorKind(
    name="tanh",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"TANH": import_plain(1)}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: True,
)
