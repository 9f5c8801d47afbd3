"""The same elements with the axes in another order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, misfit, moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads
from uhost.ops._tflite import check_counts, constant_integers, malformed, resolve_axis


@dataclass(frozen=True, slots=True)
class TransposeAttributes(Attributes):
    """Axis i of the output is axis `permutation[i]` of the input."""

    permutation: tuple[int, ...]


def _infer(bound: BoundOperator[TransposeAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, permutation = bound.input(0), bound.attributes.permutation
    require_moved(source, bound.output)
    if sorted(permutation) != list(range(len(source.shape))):
        raise misfit(bound, f"{list(permutation)} does not permute {list(source.shape)}")
    return [(tuple(source.shape[axis] for axis in permutation), source.dtype)]


def _reference(
    bound: BoundOperator[TransposeAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [np.array(source.transpose(bound.attributes.permutation), order="C")]


def _import_tflite(node: SourceNode) -> Imported:
    source, order = check_counts(node, 2)
    rank = len(source.shape)
    permutation = constant_integers(node, order, "permutation")
    if len(permutation) != rank:
        raise malformed(node, f"{len(permutation)} axes for a tensor of rank {rank}")
    axes = tuple(resolve_axis(node, axis, rank) for axis in permutation)
    return Imported(TransposeAttributes(axes), (source,))


def _examples() -> Iterable[Example]:
    def case(name: str, shape: tuple[int, ...], order: tuple[int, ...], dtype: DType) -> Example:
        result = tuple(shape[axis] for axis in order)
        return moved("transpose", name, TransposeAttributes(order), shape, result, dtype)

    for dtype in ANY_TYPE:
        yield case(str(dtype), (2, 3, 4), (2, 0, 1), dtype)
    yield case("int8_matrix", (5, 7), (1, 0), DType.INT8)
    yield case("int8_channels_first", (1, 4, 5, 6), (0, 3, 1, 2), DType.INT8)
    yield case("int8_rows", (2, 3, 4, 8), (0, 2, 1, 3), DType.INT8)
    yield case("int8_rank_5", (2, 1, 3, 2, 4), (4, 2, 0, 3, 1), DType.INT8)
    yield case("int8_ones", (1, 5, 1, 3), (2, 1, 3, 0), DType.INT8)
    yield case("int8_nothing", (2, 3), (0, 1), DType.INT8)
    yield case("int8_vector", (4,), (0,), DType.INT8)


def _keeps_order(bound: BoundOperator[TransposeAttributes]) -> bool:
    """True if only axes of size 1 move past others: the bytes stay as they are."""
    shape = bound.input(0).shape
    longer = [axis for axis in bound.attributes.permutation if shape[axis] != 1]
    return longer == sorted(longer)


OPERATOR = OperatorKind(
    name="transpose",
    attributes=TransposeAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"TRANSPOSE": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT32, DType.INT64, DType.BOOL),
    is_copy=_keeps_order,
)
