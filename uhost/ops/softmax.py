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
from uhost.ops._checks import require, require_dtype, require_quantized, require_same_dtype
from uhost.ops._examples import quantized, real
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, options_table

OUTPUT_SCALE, OUTPUT_ZERO_POINT = 1.0 / 256.0, -128
"""The only quantisation that an int8 softmax writes."""


@dataclass(frozen=True, slots=True)
class SoftmaxAttributes(Attributes):
    """`beta` multiplies the input before the exponential."""

    beta: float = 1.0


def _infer(bound: BoundOperator[SoftmaxAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, output, beta = bound.input(0), bound.output, bound.attributes.beta
    require_dtype(source, DType.INT8, DType.FLOAT32)
    require_same_dtype(source, output)
    require(len(source.shape) >= 1, "softmax of a scalar")
    require(math.isfinite(beta) and beta > 0.0, f"beta is {beta:.9g}")
    if source.dtype is DType.INT8:
        require_quantized(source, output)
        require(
            (output.scale, output.zero_point) == (OUTPUT_SCALE, OUTPUT_ZERO_POINT),
            f"the output has scale {output.scale:.9g} and zero point {output.zero_point}, "
            f"not 1/256 and -128",
        )
        depth = source.shape[-1]
        require(depth <= MAX_DEPTH, f"{depth} classes, more than {MAX_DEPTH}")
        require(beta * source.scale * 2.0**26 > 1.0, f"the input scale is {source.scale:.9g}")
    return [(source.shape, source.dtype)]


def _reference(
    bound: BoundOperator[SoftmaxAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    beta = bound.attributes.beta
    if source.dtype == np.int8:
        return [softmax_int8(source, softmax_exponentials(beta, bound.input(0).scale))]
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
