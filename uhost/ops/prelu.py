"""Negative numbers are multiplied by another tensor, with numpy broadcasting.

int16 has int8 factors. Source: TFLite Micro, `prelu_common.cc`; factors are formed in double.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._checks import (
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_symmetric,
)
from uhost.ops._elementwise import QUANTIZED, arrays, broadcast
from uhost.ops._examples import quantized, real
from uhost.ops._factors import in_float32
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class PreluAttributes(Attributes):
    """`unsigned`: the file's types are uint8, and factors are formed as LiteRT does."""

    unsigned: bool = False


def prelu_scaling(
    bound: BoundOperator[PreluAttributes],
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns multiplier and shift for numbers of zero and more, and for those below."""
    source, alpha, output = bound.input(0).scale, bound.input(1).scale, bound.output.scale
    factor, leak = source / output, source * alpha / output
    if bound.attributes.unsigned:
        factor, leak = in_float32(source, 1.0, output), in_float32(source, alpha, output)
    return quantize_multiplier(factor), quantize_multiplier(leak)


def _infer(bound: BoundOperator[PreluAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, alpha, output = bound.input(0), bound.input(1), bound.output
    require_dtype(source, DType.FLOAT32, *QUANTIZED)
    require_same_dtype(source, output)
    require_dtype(alpha, DType.FLOAT32 if source.dtype is DType.FLOAT32 else DType.INT8)
    if source.dtype in QUANTIZED:
        require_quantized(source, alpha, output)
        require_symmetric(source, output)
    return [(broadcast(bound), source.dtype)]


def _reference(
    bound: BoundOperator[PreluAttributes], inputs: Sequence[Array | None]
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


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(PreluAttributes(node.from_uint8), check_counts(node, 2))


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
        graph = single(name, "prelu", PreluAttributes(), [ends[0], alpha], [ends[1]])
        return Example(name, graph, (str(dtype),))

    image = (1, 3, 4, 5)
    for name, shape in (("", (1, 1, 5)), ("_same", image), ("_last", (5,))):
        yield case(f"float32{name}", DType.FLOAT32, (image, shape), real("alpha", shape))
        alpha = quantized("alpha", shape, 0.01, 7)
        yield case(f"int8{name}", DType.INT8, (image, shape), alpha)
        yield case(f"int16{name}", DType.INT16, (image, shape), quantized("alpha", shape, 0.01, 0))


OPERATOR = OperatorKind(
    name="prelu",
    attributes=PreluAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"PRELU": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
)
