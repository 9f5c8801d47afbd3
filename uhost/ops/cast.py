"""Conversion between types.

Floats are cut toward zero; beyond the type, and for NaN, the result is its nearest end and 0,
as in LiteRT. Integers that do not fit are cut to the lower bits; a boolean is 1 or 0, and true
for whatever is not 0. Quantisation is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype
from uhost.ops._elementwise import NoAttributes, arrays, import_plain
from uhost.ops._op import Example, OperatorKind, single

TYPES = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL)


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    require_dtype(bound.input(0), *TYPES)
    require_dtype(bound.output, *TYPES)
    return [(bound.input(0).shape, bound.output.dtype)]


def cast_limits(dtype: DType) -> tuple[float, float]:
    """Returns the ends of an integer type as float32; the upper one may be one too many."""
    low, high = dtype.limits
    return float(np.float32(low)), float(np.float32(high))


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, dtype = arrays(inputs)[0], bound.output.dtype
    if values.dtype != np.float32 or not dtype.is_integer:
        return [values.astype(dtype.numpy)]
    (low, high), limits = cast_limits(dtype), dtype.limits
    inside = np.where((values > low) & (values < high), values, 0).astype(dtype.numpy)
    ends = np.where(values >= high, dtype.numpy.type(limits[1]), inside)
    return [np.where(values <= low, dtype.numpy.type(limits[0]), ends)]


def _examples() -> Iterator[Example]:
    for source in TYPES:
        for made in TYPES:
            name = f"{source}_to_{made}"
            tensors = Tensor("input", (3, 40), source), Tensor("output", (3, 40), made)
            graph = single(name, "cast", NoAttributes(), tensors[:1], tensors[1:])
            yield Example(name, graph, (str(source),))


def _is_copy(bound: BoundOperator[NoAttributes]) -> bool:
    return bound.input(0).dtype is bound.output.dtype


OPERATOR = OperatorKind(
    name="cast",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CAST": import_plain(1)}},
    examples=_examples,
    is_copy=_is_copy,
    folds_at_import=True,
    is_channelwise=lambda bound: True,
)
