"""Negative numbers are multiplied by another tensor, with numpy broadcasting.

int16 has int8 factors. Source: TFLite Micro, `prelu_common.cc`; factors are formed in double.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._checks import (
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_symmetric,
)
from uhost.ops._elementwise import QUANTIZED, NoAttributes, arrays, broadcast, import_plain
from uhost.ops._examples import quantized, real
from uhost.ops._op import Example, OperatorKind, single


def prelu_scaling(
    bound: BoundOperator[NoAttributes],
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns multiplier and shift for numbers of zero and more, and for those below."""
    source, alpha, output = bound.input(0).scale, bound.input(1).scale, bound.output.scale
    return quantize_multiplier(source / output), quantize_multiplier(source * alpha / output)


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, alpha, output = bound.input(0), bound.input(1), bound.output
    require_dtype(source, DType.FLOAT32, *QUANTIZED)
    require_same_dtype(source, output)
    require_dtype(alpha, DType.FLOAT32 if source.dtype is DType.FLOAT32 else DType.INT8)
    if source.dtype in QUANTIZED:
        require_quantized(source, alpha, output)
        require_symmetric(source, output)
    return [(broadcast(bound), source.dtype)]


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    (values, alphas), output = arrays(inputs), bound.output
    if output.dtype is DType.FLOAT32:
        return [np.where(values >= 0, values, values * alphas)]
    offset = values.astype(np.int64) - bound.input(0).zero_point
    products = offset * (alphas.astype(np.int64) - bound.input(1).zero_point)
    above, below = prelu_scaling(bound)
    scaled = np.where(
        offset >= 0,
        multiply_by_quantized_multiplier(offset, *above),
        multiply_by_quantized_multiplier(products, *below),
    )
    low, high = output.dtype.limits
    return [np.clip(scaled + output.zero_point, low, high).astype(values.dtype)]


def _examples() -> Iterator[Example]:
    def case(
        name: str, dtype: DType, shapes: tuple[tuple[int, ...], tuple[int, ...]], alpha: Tensor
    ) -> Example:
        result = tuple(np.broadcast_shapes(*shapes))
        if dtype is DType.FLOAT32:
            ends = real("input", shapes[0]), real("output", result)
        else:
            scale = 1.0 if dtype is DType.INT8 else 0.005
            zero = 1 if dtype is DType.INT8 else 0
            ends = (
                quantized("input", shapes[0], 0.05 * scale, 4 * zero, dtype),
                quantized("output", result, 0.04 * scale, -9 * zero, dtype),
            )
        graph = single(name, "prelu", NoAttributes(), [ends[0], alpha], [ends[1]])
        return Example(name, graph, (str(dtype),))

    image = (1, 3, 4, 5)
    for name, shape in (("", (1, 1, 5)), ("_same", image), ("_last", (5,))):
        yield case(f"float32{name}", DType.FLOAT32, (image, shape), real("alpha", shape))
        alpha = quantized("alpha", shape, 0.01, 7)
        yield case(f"int8{name}", DType.INT8, (image, shape), alpha)
        yield case(f"int16{name}", DType.INT16, (image, shape), quantized("alpha", shape, 0.01, 0))


OPERATOR = OperatorKind(
    name="prelu",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"PRELU": import_plain(2)}},
    examples=_examples,
)
