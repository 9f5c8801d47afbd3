"""A tensor of a shape known at compile time, every element the same scalar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import COMPUTED, DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require, require_dtype, require_same_dtype
from uhost.ops._elementwise import QUANTIZED, arrays, require_one_quantization
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads, single
from uhost.ops._tflite import check_counts, constant_integers, malformed


@dataclass(frozen=True, slots=True)
class FillAttributes(Attributes):
    """The output's shape."""

    shape: tuple[int, ...]


def _infer(bound: BoundOperator[FillAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    value, output = bound.input(0), bound.output
    require_dtype(value, *COMPUTED)
    require(value.shape == (), f"'{value.name}' is no scalar")
    require_same_dtype(value, output)
    if value.dtype in QUANTIZED and value.quantization and output.quantization:
        require_one_quantization(output, value)
    return [(bound.attributes.shape, value.dtype)]


def _reference(
    bound: BoundOperator[FillAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    return [np.full(bound.attributes.shape, arrays(inputs)[0])]


def _import_tflite(node: SourceNode) -> Imported:
    sizes, value = check_counts(node, 2)
    shape = constant_integers(node, sizes, "shape")
    if any(size < 0 for size in shape):
        raise malformed(node, f"the shape is {list(shape)}")
    return Imported(FillAttributes(shape), (value,))


def _examples() -> Iterator[Example]:
    for dtype in (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL):
        shape = (3, 5)
        value, output = Tensor("value", (), dtype), Tensor("output", shape, dtype)
        graph = single(str(dtype), "fill", FillAttributes(shape), [value], [output])
        yield Example(str(dtype), graph, (str(dtype),))


OPERATOR = OperatorKind(
    name="fill",
    attributes=FillAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"FILL": _import_tflite}},
    examples=_examples,
    folds_at_import=True,
    by_litert=reads(DType.INT16, DType.INT64, DType.BOOL),
)
