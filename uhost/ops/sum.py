"""Sum over constant axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._checks import require
from uhost.ops._elementwise import arrays
from uhost.ops._op import Example, OperatorKind, reads
from uhost.ops._reduce import (
    ReduceAttributes,
    import_reduction,
    infer_reduction,
    reduced_count,
    reduction_examples,
    rows_of,
)

MAX_COUNTS = {DType.INT8: 1 << 23, DType.INT16: (1 << 16) - 1}
"""Most elements of one sum: less the zero points it fits 32 bits."""

_TYPES = (DType.FLOAT32, *MAX_COUNTS, DType.INT32, DType.INT64)


def sum_factor(bound: BoundOperator[ReduceAttributes]) -> tuple[int, int]:
    """Returns multiplier and shift of s_in / s_out, formed in double.

    Source: TFLite Micro, `QuantizedMeanOrSum`.
    """
    return quantize_multiplier(bound.input(0).scale / bound.output.scale)


def _infer(bound: BoundOperator[ReduceAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_reduction(bound, *_TYPES)
    most = MAX_COUNTS.get(bound.output.dtype)
    if most is not None:
        count = reduced_count(bound)
        require(count <= most, f"a sum of {count} elements, more than {most}")
    return found


def _reference(
    bound: BoundOperator[ReduceAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, output = arrays(inputs)[0], bound.output
    rows = rows_of(bound, values)
    if output.dtype not in MAX_COUNTS:
        # cumsum adds from the first element to the last, as the kernels do; sum goes pairwise.
        return [np.cumsum(rows, axis=-1, dtype=rows.dtype)[..., -1].reshape(output.shape)]
    total = rows.astype(np.int64).sum(axis=-1) - bound.input(0).zero_point * rows.shape[-1]
    scaled = multiply_by_quantized_multiplier(total, *sum_factor(bound)) + output.zero_point
    result = np.clip(scaled, *output.dtype.limits).astype(values.dtype)
    return [result.reshape(output.shape)]


def _examples() -> Iterator[Example]:
    for dtype in _TYPES:
        source, output = (0.05, 3), (0.3, -20)
        if dtype is DType.INT16:
            source, output = (0.0003, 0), (0.002, 0)
        yield from reduction_examples("sum", dtype, source, output)


OPERATOR = OperatorKind(
    name="sum",
    attributes=ReduceAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SUM": import_reduction}},
    examples=_examples,
    takes_uint8=True,
    folds_at_import=True,
    by_litert=reads(DType.INT32, DType.INT64),
)
