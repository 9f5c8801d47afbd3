"""A tensor in which one box is replaced, at a place computed at run time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype
from uhost.ops._indices import within
from uhost.ops._movement import ANY_TYPE, example_tensor, misfit, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads, single
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class DynamicUpdateSliceAttributes(Attributes):
    """Nothing: the third input is where the second begins in the first."""


def _infer(
    bound: BoundOperator[DynamicUpdateSliceAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    whole, update, start = bound.input(0), bound.input(1), bound.input(2)
    require_moved(whole, update, bound.output)
    require_dtype(start, DType.INT32, DType.INT64)
    rank = len(whole.shape)
    if (
        len(update.shape) != rank
        or start.shape != (rank,)
        or any(size > room for size, room in zip(update.shape, whole.shape, strict=False))
    ):
        raise misfit(
            bound, f"{list(update.shape)} into {list(whole.shape)} at {list(start.shape)} indices"
        )
    return [(whole.shape, whole.dtype)]


def _reference(
    bound: BoundOperator[DynamicUpdateSliceAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    """Returns the new tensor; the box is moved to lie inside, as TFLite does."""
    whole, update, start = inputs[0], inputs[1], inputs[2]
    assert whole is not None
    assert update is not None
    assert start is not None
    result = whole.copy()
    box = []
    for first, size, room in zip(start, update.shape, whole.shape, strict=True):
        inside = int(within(first, room - size + 1))
        box.append(slice(inside, inside + size))
    result[tuple(box)] = update
    return [result]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(DynamicUpdateSliceAttributes(), check_counts(node, 3))


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shape: tuple[int, ...],
        box: tuple[int, ...],
        dtype: DType = DType.INT8,
        start: Tensor | None = None,
    ) -> Example:
        at = start or Tensor("start", (len(shape),), DType.INT32)
        tensors = example_tensor("input", shape, dtype), example_tensor("update", box, dtype)
        output = example_tensor("output", shape, dtype)
        attributes = DynamicUpdateSliceAttributes()
        graph = single(name, "dynamic_update_slice", attributes, [*tensors, at], [output])
        return Example(name, graph, (str(dtype),))

    for dtype in ANY_TYPE:
        yield case(str(dtype), (4, 5), (2, 3), dtype)
    yield case("int8_rows", (6, 8), (1, 8))
    yield case("int8_long", (1, 40), (1, 30))
    yield case("int8_all", (3, 4), (3, 4))
    yield case("int8_rank_4", (2, 3, 4, 5), (1, 2, 2, 4))
    values = np.array([1, 2], np.int32)
    yield case("int8_constant", (4, 5), (2, 2), start=Tensor("s", (2,), DType.INT32, None, values))
    yield case("int8_int64_start", (4, 5), (2, 2), start=Tensor("s", (2,), DType.INT64))


OPERATOR = OperatorKind(
    name="dynamic_update_slice",
    attributes=DynamicUpdateSliceAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"DYNAMIC_UPDATE_SLICE": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT64, DType.BOOL),
    operands=lambda bound: [bound.input(0), bound.input(1)],
)
