"""Rows of a table by their indices; of an int8 table they may become float32."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._checks import require, require_dtype, require_quantized
from uhost.ops._examples import real
from uhost.ops._indices import require_indices, within
from uhost.ops._movement import example_tensor, misfit, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts

TYPES = (DType.FLOAT32, DType.INT8)


@dataclass(frozen=True, slots=True)
class EmbeddingLookupAttributes(Attributes):
    """Nothing: the inputs are indices and the table, whose first axis they count."""


def is_hybrid(bound: BoundOperator[EmbeddingLookupAttributes]) -> bool:
    """True if an int8 table gives float32."""
    return bound.input(1).dtype is DType.INT8 and bound.output.dtype is DType.FLOAT32


def _infer(
    bound: BoundOperator[EmbeddingLookupAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    indices, table = bound.input(0), bound.input(1)
    require_dtype(table, *TYPES)
    require_dtype(indices, DType.INT32)
    if is_hybrid(bound):
        require_quantized(table)
        require(table.zero_point == 0, f"'{table.name}' has a zero point")
    else:
        require_moved(table, bound.output)
    if len(indices.shape) != 1 or len(table.shape) < 2:
        raise misfit(bound, f"{list(indices.shape)} indices into a table {list(table.shape)}")
    require_indices(bound, indices, table.shape[0])
    return [((*indices.shape, *table.shape[1:]), bound.output.dtype)]


def _reference(
    bound: BoundOperator[EmbeddingLookupAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    indices, table = inputs[0], inputs[1]
    assert indices is not None
    assert table is not None
    rows = table[within(indices, table.shape[0])]
    if is_hybrid(bound):
        rows = rows.astype(np.float32) * np.float32(bound.input(1).scale)
    return [rows]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(EmbeddingLookupAttributes(), check_counts(node, 2))


def _examples() -> Iterable[Example]:
    indices = Tensor("indices", (4,), DType.INT32)

    def case(name: str, table: Tensor, output: Tensor, *tags: str) -> Example:
        attributes = EmbeddingLookupAttributes()
        graph = single(name, "embedding_lookup", attributes, [indices, table], [output])
        return Example(name, graph, tags)

    for dtype in TYPES:
        tensors = example_tensor("table", (7, 5), dtype), example_tensor("output", (4, 5), dtype)
        yield case(str(dtype), *tensors, str(dtype))
    wide = example_tensor("table", (3, 2, 4), DType.INT8)
    yield case("int8_wide", wide, example_tensor("output", (4, 2, 4), DType.INT8))
    values = np.random.default_rng(3).integers(-127, 128, (7, 5), np.int8)
    scale = Quantization((float(np.float32(0.0123)),), (0,))
    packed = Tensor("table", (7, 5), DType.INT8, scale, values)
    yield case("int8_to_float32", packed, real("output", (4, 5)))


OPERATOR = OperatorKind(
    name="embedding_lookup",
    attributes=EmbeddingLookupAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"EMBEDDING_LOOKUP": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    operands=lambda bound: [bound.input(1)],
)
