"""The sizes of a tensor's axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype
from uhost.ops._examples import quantized, real
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class ShapeAttributes(Attributes):
    """Nothing: the output's type is its own."""


def _infer(bound: BoundOperator[ShapeAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    require_dtype(bound.output, DType.INT32, DType.INT64)
    return [((len(bound.input(0).shape),), bound.output.dtype)]


def _reference(
    bound: BoundOperator[ShapeAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    del inputs
    return [np.array(bound.input(0).shape, bound.output.dtype.numpy)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(ShapeAttributes(), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    for dtype in (DType.INT32, DType.INT64):
        tensors = [quantized("input", (2, 3, 1), 0.1, 0)], [Tensor("output", (3,), dtype)]
        yield Example(
            f"int8_{dtype}", single(f"int8_{dtype}", "shape", ShapeAttributes(), *tensors)
        )
    floats = [real("input", (7,))], [Tensor("output", (1,), DType.INT32)]
    yield Example("float32", single("float32", "shape", ShapeAttributes(), *floats))


OPERATOR = OperatorKind(
    name="shape",
    attributes=ShapeAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SHAPE": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    reads_shapes=True,
    by_litert=lambda bound: bound.output.dtype is DType.INT64,
)
