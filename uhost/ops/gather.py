"""Slices of a tensor along one axis, by their indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._indices import require_indices, within
from uhost.ops._movement import ANY_TYPE, example_tensor, misfit, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, options_table, resolve_axis


@dataclass(frozen=True, slots=True)
class GatherAttributes(Attributes):
    """`axis` of the source, from the front; its first `batch_axes` are those of the indices."""

    axis: int
    batch_axes: int = 0


def _infer(bound: BoundOperator[GatherAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, indices, at = bound.input(0), bound.input(1), bound.attributes
    require_moved(source, bound.output)
    batch = at.batch_axes
    if (
        not 0 <= batch <= at.axis < len(source.shape)
        or batch > len(indices.shape)
        or source.shape[:batch] != indices.shape[:batch]
    ):
        raise misfit(
            bound,
            f"{list(indices.shape)} indices into axis {at.axis} of {list(source.shape)} "
            f"with {batch} axes in common",
        )
    require_indices(bound, indices, source.shape[at.axis])
    shape = (*source.shape[: at.axis], *indices.shape[batch:], *source.shape[at.axis + 1 :])
    return [(shape, source.dtype)]


def _reference(
    bound: BoundOperator[GatherAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, indices = inputs[0], inputs[1]
    assert source is not None
    assert indices is not None
    axis, batch = bound.attributes.axis, bound.attributes.batch_axes
    places = within(indices, source.shape[axis])
    if not batch:
        return [np.take(source, places, axis)]
    shared = source.shape[:batch]
    taken = [np.take(source[b], places[b], axis - batch) for b in np.ndindex(*shared)]
    return [np.stack(taken).reshape(bound.output.shape)]


def _import_tflite(node: SourceNode) -> Imported:
    source, indices = check_counts(node, 2)
    options = options_table(node, "GatherOptions")
    axis = options.Axis() if options is not None else 0
    batch = options.BatchDims() if options is not None else 0
    axis = resolve_axis(node, axis, len(source.shape))
    batch = batch + len(indices.shape) if batch < 0 else batch
    return Imported(GatherAttributes(axis, batch), (source, indices))


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shape: tuple[int, ...],
        indices: tuple[int, ...] | Array,
        axis: int,
        batch: int = 0,
        dtype: DType = DType.INT8,
        index: DType = DType.INT32,
    ) -> Example:
        if isinstance(indices, tuple):
            places = Tensor("indices", indices, index)
        else:
            places = Tensor("indices", indices.shape, index, None, indices.astype(index.numpy))
        result = (*shape[:axis], *places.shape[batch:], *shape[axis + 1 :])
        source, output = (
            example_tensor("input", shape, dtype),
            example_tensor("output", result, dtype),
        )
        attributes = GatherAttributes(axis, batch)
        graph = single(name, "gather", attributes, [source, places], [output])
        return Example(name, graph, (str(dtype),))

    for dtype in ANY_TYPE:
        yield case(str(dtype), (2, 5, 3), (4,), 1, dtype=dtype)
    yield case("int8_scalar", (6, 8), (), 0)
    yield case("int8_matrix", (3, 4), (2, 3), 1)
    yield case("int8_int64_indices", (5, 2), (3,), 0, index=DType.INT64)
    yield case("int8_batches", (2, 3, 4, 2), (2, 3), 2, 1)
    yield case("int8_batches_only", (2, 3, 5), (2, 3), 2, 2)
    yield case("int8_constant", (5, 3, 2), np.array([4, 0, 0, 3, 1]), 0)
    yield case("int8_constant_run", (2, 6, 4), np.array([2, 3, 4]), 1)
    yield case("int8_constant_steps", (7, 3), np.array([6, 4, 2, 0]), 0)
    yield case("int8_constant_scalar", (2, 1, 6, 4), np.array(1), 0)
    yield case("int8_constant_channels", (2, 3, 6), np.array([1, 3, 5]), 2)
    yield case("int8_constant_batches", (2, 4), np.array([[1, 0], [3, 3]]), 1, 1)


def _by_litert(bound: BoundOperator[GatherAttributes]) -> bool:
    """TFLite Micro has two types, and int32 indices only."""
    known = (DType.FLOAT32, DType.INT8)
    return bound.input(0).dtype not in known or bound.input(1).dtype is not DType.INT32


OPERATOR = OperatorKind(
    name="gather",
    attributes=GatherAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"GATHER": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=_by_litert,
    operands=lambda bound: [bound.input(0)],
)
