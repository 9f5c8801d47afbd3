"""Sum of any number of tensors of one shape.

TFLite Micro subtracts the zero point of int8 once too often; here it is subtracted once from
every number, as the format's quantisation says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.exact_sum import scale_sum, sum_scaling
from uhost.ops._checks import require
from uhost.ops._elementwise import (
    NoAttributes,
    arrays,
    example,
    infer_elements,
    require_one_quantization,
)
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads
from uhost.ops._tflite import check_counts

_MOST = 1 << 20
"""Most inputs: their sum fits 32 bits."""


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    tensors = [bound.input(index) for index in range(len(bound.inputs))]
    require(1 <= len(tensors) <= _MOST, f"{len(tensors)} inputs")
    require(len({tensor.shape for tensor in tensors}) == 1, "the inputs have different shapes")
    found = infer_elements(DType.FLOAT32, DType.INT8, DType.INT32)(bound)
    if bound.output.dtype is DType.INT8:
        require_one_quantization(*tensors)
        multiplier, right_shift = sum_scaling(tensors[0].scale, bound.output.scale)
        near = multiplier > 0 and right_shift >= 0
        require(near, f"the output scale {bound.output.scale:.9g} is too far from the inputs'")
    return found


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, output = arrays(inputs), bound.output
    if output.dtype is not DType.INT8:
        return [reduce(np.add, values)]
    source = bound.input(0)
    total = reduce(np.add, (one.astype(np.int64) - source.zero_point for one in values))
    scaled = scale_sum(total, *sum_scaling(source.scale, output.scale)) + output.zero_point
    return [np.clip(scaled, -128, 127).astype(np.int8)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(NoAttributes(), check_counts(node, 1, len(node.inputs)))


def _examples() -> Iterator[Example]:
    for dtype in (DType.FLOAT32, DType.INT8, DType.INT32):
        for count in (2, 3, 5):
            yield example(
                "add_n",
                f"{dtype}_{count}",
                dtype,
                [(3, 40)] * count,
                scales=[0.05] * count,
                zero_points=[0] * count,
                output=(0.07, 5),
            )
    yield example(
        "add_n",
        "int8_zero_point",
        DType.INT8,
        [(3, 40)] * 3,
        scales=[0.05] * 3,
        zero_points=[-20] * 3,
        output=(0.1, 5),
    )
    yield example(
        "add_n",
        "int8_many",
        DType.INT8,
        [(2, 64)] * 40,
        scales=[0.05] * 40,
        zero_points=[-128] * 40,
        output=(1.0, -128),
    )


OPERATOR = OperatorKind(
    name="add_n",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"ADD_N": _import_tflite}},
    examples=_examples,
    is_channelwise=lambda bound: True,
    by_litert=reads(DType.INT32),
)
