"""The shape that two shapes broadcast to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype, require_same_dtype
from uhost.ops._movement import misfit
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class BroadcastArgsAttributes(Attributes):
    """Nothing: both inputs are shapes, outermost axis first."""


def _infer(
    bound: BoundOperator[BroadcastArgsAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    first, second = bound.input(0), bound.input(1)
    require_dtype(first, DType.INT32, DType.INT64)
    require_same_dtype(first, second)
    if len(first.shape) != 1 or len(second.shape) != 1:
        raise misfit(bound, f"shapes of the ranks {len(first.shape)} and {len(second.shape)}")
    return [((max(first.elements, second.elements),), first.dtype)]


def _reference(
    bound: BoundOperator[BroadcastArgsAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    """Returns, of each pair of sizes, the second where the first is 1, else the first.

    Sizes that do not broadcast are not told apart; TFLite ends the run.
    """
    length = bound.output.elements
    shapes = []
    for shape in inputs[:2]:
        assert shape is not None
        missing = np.ones(length - len(shape), shape.dtype)
        shapes.append(np.concatenate([missing, shape]))
    return [np.where(shapes[0] == 1, shapes[1], shapes[0])]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(BroadcastArgsAttributes(), check_counts(node, 2))


def _examples() -> Iterable[Example]:
    def case(name: str, first: int, second: int, dtype: DType) -> Example:
        tensors = Tensor("first", (first,), dtype), Tensor("second", (second,), dtype)
        output = Tensor("output", (max(first, second),), dtype)
        attributes = BroadcastArgsAttributes()
        return Example(
            name, single(name, "broadcast_args", attributes, tensors, [output]), (str(dtype),)
        )

    for dtype in (DType.INT32, DType.INT64):
        yield case(f"{dtype}_equal", 3, 3, dtype)
        yield case(f"{dtype}_longer", 4, 2, dtype)
        yield case(f"{dtype}_shorter", 1, 3, dtype)


OPERATOR = OperatorKind(
    name="broadcast_args",
    attributes=BroadcastArgsAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"BROADCAST_ARGS": _import_tflite}},
    examples=_examples,
)
