"""The size of every element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._elementwise import (
    QUANTIZED,
    NoAttributes,
    arrays,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._op import Example, OperatorKind, reads


def abs_scaling(bound: BoundOperator[NoAttributes]) -> tuple[int, int] | None:
    """Returns multiplier and shift of s_in / s_out, formed in double; None for equal scales."""
    source, output = bound.input(0).scale, bound.output.scale
    return None if source == output else quantize_multiplier(source / output)


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, output = arrays(inputs)[0], bound.output
    if output.dtype not in QUANTIZED:
        return [np.abs(values)]
    size = np.abs(values.astype(np.int64) - bound.input(0).zero_point)
    scaling = abs_scaling(bound)
    if scaling is not None:
        size = multiply_by_quantized_multiplier(size, *scaling)
    low, high = output.dtype.limits
    return [np.clip(size + output.zero_point, low, high).astype(values.dtype)]


def _examples() -> Iterator[Example]:
    for dtype in (DType.FLOAT32, DType.INT32):
        yield example("abs", str(dtype), dtype, ((3, 50),))
    for name, scale, zero_point, output in (
        ("", 0.05, 3, (0.03, -95)),
        ("_equal", 0.1, -18, (0.1, -128)),
        ("_wide", 0.4, 0, (0.2, -7)),
    ):
        yield example(
            "abs",
            f"int8{name}",
            DType.INT8,
            ((2, 128),),
            scales=(scale,),
            zero_points=(zero_point,),
            output=output,
        )
    for name, scale, output_scale in (("", 0.0003, 0.00025), ("_equal", 0.001, 0.001)):
        yield example(
            "abs",
            f"int16{name}",
            DType.INT16,
            ((2, 500),),
            scales=(scale,),
            output=(output_scale, 0),
        )


OPERATOR = OperatorKind(
    name="abs",
    attributes=NoAttributes,
    infer=infer_elements(DType.FLOAT32, DType.INT32, *QUANTIZED),
    reference=_reference,
    importers={"tflite": {"ABS": import_plain(1)}},
    examples=_examples,
    folds_at_import=True,
    is_channelwise=lambda bound: True,
    by_litert=reads(DType.INT32),
)
