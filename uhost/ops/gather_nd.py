"""Slices of a tensor by their indices in its first axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype
from uhost.ops._indices import INDEX_TYPES, within
from uhost.ops._movement import ANY_TYPE, example_tensor, misfit, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class GatherNdAttributes(Attributes):
    """Nothing: the last axis of the indices counts axes of the source."""


def _infer(bound: BoundOperator[GatherNdAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, indices = bound.input(0), bound.input(1)
    require_moved(source, bound.output)
    require_dtype(indices, *INDEX_TYPES)
    depth = indices.shape[-1] if indices.shape else 0
    if not 0 < depth <= len(source.shape):
        raise misfit(bound, f"{list(indices.shape)} indices into {list(source.shape)}")
    values = indices.values
    if values is not None and not ((values >= 0) & (values < source.shape[:depth])).all():
        raise misfit(bound, f"the indices '{indices.name}' are not all within {source.shape}")
    return [((*indices.shape[:-1], *source.shape[depth:]), source.dtype)]


def _reference(
    bound: BoundOperator[GatherNdAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, indices = inputs[0], inputs[1]
    assert source is not None
    assert indices is not None
    places = tuple(
        within(indices[..., axis], source.shape[axis]) for axis in range(indices.shape[-1])
    )
    return [np.array(source[places])]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(GatherNdAttributes(), check_counts(node, 2))


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shape: tuple[int, ...],
        indices: tuple[int, ...],
        dtype: DType = DType.INT8,
        values: list[list[int]] | None = None,
        index: DType = DType.INT32,
    ) -> Example:
        array = None if values is None else np.array(values, index.numpy)
        places = Tensor("indices", indices, index, None, array)
        result = (*indices[:-1], *shape[indices[-1] :])
        tensors = example_tensor("input", shape, dtype), example_tensor("output", result, dtype)
        graph = single(name, "gather_nd", GatherNdAttributes(), [tensors[0], places], [tensors[1]])
        return Example(name, graph, (str(dtype),))

    for dtype in ANY_TYPE:
        yield case(str(dtype), (3, 4, 5), (2, 2), dtype)
    yield case("int8_elements", (3, 4), (5, 2))
    yield case("int8_rows", (6, 9), (2, 3, 1))
    yield case("int8_one", (3, 4, 2), (3,))
    yield case("int8_constant", (3, 4, 2), (3, 2), values=[[2, 3], [0, 0], [1, 2]])
    yield case("int8_int64_indices", (5, 2), (3, 1), index=DType.INT64)


def _by_litert(bound: BoundOperator[GatherNdAttributes]) -> bool:
    known = (DType.FLOAT32, DType.INT8)
    return bound.input(0).dtype not in known or bound.input(1).dtype is not DType.INT32


OPERATOR = OperatorKind(
    name="gather_nd",
    attributes=GatherNdAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"GATHER_ND": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=_by_litert,
    operands=lambda bound: [bound.input(0)],
)
