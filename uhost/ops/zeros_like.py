"""Zeros in the shape of the input.

The zero of a quantised type is its zero point; TFLite Micro writes the raw number 0, which
stands for another number where the zero point is not 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._elementwise import (
    QUANTIZED,
    NoAttributes,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._op import Example, OperatorKind

_TYPES = (DType.FLOAT32, DType.INT8, DType.INT32, DType.INT64)


def zero_of(bound: BoundOperator[NoAttributes]) -> int:
    """Returns the number that stands for zero."""
    return bound.output.zero_point if bound.output.dtype in QUANTIZED else 0


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    return [np.full(bound.output.shape, zero_of(bound), bound.output.dtype.numpy)]


def _examples() -> Iterator[Example]:
    for dtype in _TYPES:
        yield example("zeros_like", str(dtype), dtype, ((3, 5),))
    yield example("zeros_like", "int8_zero_point", DType.INT8, ((3, 5),), output=(0.05, -30))


OPERATOR = OperatorKind(
    name="zeros_like",
    attributes=NoAttributes,
    infer=infer_elements(*_TYPES),
    reference=_reference,
    importers={"tflite": {"ZEROS_LIKE": import_plain(1)}},
    examples=_examples,
    reads_shapes=True,
)
