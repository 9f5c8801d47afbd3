"""Softmax over the last axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.softmax import MAX_DEPTH, softmax_exponentials, softmax_int8
from uhost.numerics.softmax_int16 import softmax_int16
from uhost.ops._checks import require, require_dtype, require_quantized, require_same_dtype
from uhost.ops._examples import quantized, real
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, options_table

OUTPUT_SCALE, OUTPUT_ZERO_POINT = 1.0 / 256.0, -128
"""The only quantisation that a softmax from int8 to int8 writes."""

_OUTPUTS = {
    (DType.INT8, DType.INT8): (OUTPUT_SCALE, OUTPUT_ZERO_POINT, "1/256 and -128"),
    (DType.INT8, DType.INT16): (1.0 / 65536.0, -32768, "1/65536 and -32768"),
    (DType.INT16, DType.INT16): (1.0 / 32768.0, 0, "1/32768 and 0"),
}
_MOST_INT16 = 1 << 16
"""Longest row of int16: its sum of exponentials stays below 2^31."""


@dataclass(frozen=True, slots=True)
class SoftmaxAttributes(Attributes):
    """`beta` multiplies the input before the exponential."""

    beta: float = 1.0


def _infer(bound: BoundOperator[SoftmaxAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, output, beta = bound.input(0), bound.output, bound.attributes.beta
    require_dtype(source, DType.INT8, DType.INT16, DType.FLOAT32)
    types = source.dtype, output.dtype
    if types not in _OUTPUTS:
        require_same_dtype(source, output)
    require(len(source.shape) >= 1, "softmax of a scalar")
    require(math.isfinite(beta) and beta > 0.0, f"beta is {beta:.9g}")
    depth = source.shape[-1]
    if types in _OUTPUTS:
        require_quantized(source, output)
        scale, zero_point, text = _OUTPUTS[types]
        # Converters write the int16 scale as 1/32767, too.
        nearly = abs(output.scale - scale) <= 0.001 * scale * (output.dtype is DType.INT16)
        require(
            nearly and output.zero_point == zero_point,
            f"the output has scale {output.scale:.9g} and zero point {output.zero_point}, "
            f"not {text}",
        )
    if source.dtype is DType.INT16:
        require(depth <= _MOST_INT16, f"{depth} classes, more than {_MOST_INT16}")
        require(math.isfinite(beta * source.scale), f"the input scale is {source.scale:.9g}")
    if source.dtype is DType.INT8:
        require(depth <= MAX_DEPTH, f"{depth} classes, more than {MAX_DEPTH}")
        require(beta * source.scale * 2.0**26 > 1.0, f"the input scale is {source.scale:.9g}")
    return [(source.shape, output.dtype)]


def _reference(
    bound: BoundOperator[SoftmaxAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    beta = bound.attributes.beta
    if source.dtype == np.int8:
        table, dtype = softmax_exponentials(beta, bound.input(0).scale), bound.output.dtype
        return [softmax_int8(source, table, 8 * dtype.size_bytes)]
    if source.dtype == np.int16:
        return [softmax_int16(source, beta, bound.input(0).scale)]
    highest = source.max(axis=-1, keepdims=True)
    exponential = np.exp((source - highest) * np.float32(beta))
    # cumsum adds from the first element to the last, as the kernels do; sum would go pairwise.
    total = np.cumsum(exponential, axis=-1, dtype=np.float32)[..., -1:]
    return [exponential / total]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 1)
    options = options_table(node, "SoftmaxOptions")
    return Imported(
        SoftmaxAttributes(float(options.Beta()) if options is not None else 0.0), inputs
    )


def _examples() -> Iterable[Example]:
    def case(
        name: str, shape: tuple[int, ...], scale: float, beta: float = 1.0, *tags: str
    ) -> Example:
        tensors = (
            quantized("input", shape, scale, 17),
            quantized("output", shape, OUTPUT_SCALE, OUTPUT_ZERO_POINT),
        )
        graph = single(name, "softmax", SoftmaxAttributes(beta), tensors[:1], tensors[1:])
        return Example(name, graph, ("int8", *tags))

    yield case("int8", (1, 12), 0.14)
    yield case("int8_two_classes", (3, 2), 0.0625)
    yield case("int8_one_class", (5, 1), 0.1)
    yield case("int8_vector", (37,), 0.02)
    yield case("int8_rank_4", (2, 3, 2, 5), 0.25)
    yield case("int8_beta", (4, 10), 0.1, 0.5)
    yield case("int8_steep", (4, 10), 20.0)
    yield case("int8_flat", (2, 500), 0.00001)
    # TFLite and TFLite Micro stop the program where a row's exponentials sum to 512 or more.
    yield case("int8_flat_long", (2, 600), 0.00001, 1.0, "fatal_in_tflite")

    def wide(name: str, shape: tuple[int, ...], scale: float, dtype: DType) -> Example:
        output_scale, zero_point, _ = _OUTPUTS[dtype, DType.INT16]
        tensors = (
            quantized("input", shape, scale, 17 if dtype is DType.INT8 else 0, dtype),
            quantized("output", shape, output_scale, zero_point, DType.INT16),
        )
        graph = single(name, "softmax", SoftmaxAttributes(), tensors[:1], tensors[1:])
        return Example(name, graph, (str(dtype),))

    yield wide("int8_to_int16", (3, 12), 0.14, DType.INT8)
    yield wide("int8_to_int16_flat", (2, 300), 0.00001, DType.INT8)
    yield wide("int16", (3, 12), 0.0005, DType.INT16)
    yield wide("int16_one_class", (2, 1), 0.0005, DType.INT16)
    yield wide("int16_long", (2, 700), 0.0001, DType.INT16)
    yield wide("int16_steep", (5, 9), 0.05, DType.INT16)

    def floats(name: str, shape: tuple[int, ...], beta: float = 1.0) -> Example:
        tensors = real("input", shape), real("output", shape)
        graph = single(name, "softmax", SoftmaxAttributes(beta), tensors[:1], tensors[1:])
        return Example(name, graph, ("float32",))

    yield floats("float32", (2, 10))
    yield floats("float32_beta", (2, 3, 4), 2.5)


OPERATOR = OperatorKind(
    name="softmax",
    attributes=SoftmaxAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SOFTMAX": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
)
