"""The elements in reverse order along some axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, misfit, moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import check_counts, constant_integers, malformed, resolve_axis


@dataclass(frozen=True, slots=True)
class ReverseAttributes(Attributes):
    """`axes`, counted from the front, ascending."""

    axes: tuple[int, ...]


def _infer(bound: BoundOperator[ReverseAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, axes = bound.input(0), bound.attributes.axes
    require_moved(source, bound.output)
    if list(axes) != sorted(set(axes)) or not all(0 <= a < len(source.shape) for a in axes):
        raise misfit(bound, f"{list(source.shape)} reversed along the axes {list(axes)}")
    return [(source.shape, source.dtype)]


def _reference(
    bound: BoundOperator[ReverseAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [np.array(np.flip(source, bound.attributes.axes), order="C")]


def _import_tflite(node: SourceNode) -> Imported:
    source, operand = check_counts(node, 2)
    rank = len(source.shape)
    axes = [resolve_axis(node, axis, rank) for axis in constant_integers(node, operand, "axis")]
    if len(set(axes)) != len(axes):
        raise malformed(node, f"the axes {axes} repeat one")
    return Imported(ReverseAttributes(tuple(sorted(axes))), (source,))


def _examples() -> Iterable[Example]:
    def case(name: str, shape: tuple[int, ...], axes: tuple[int, ...], dtype: DType) -> Example:
        return moved("reverse_v2", name, ReverseAttributes(axes), shape, shape, dtype)

    for dtype in ANY_TYPE:
        yield case(str(dtype), (2, 3, 4), (1,), dtype)
    yield case("int8_last", (2, 5), (1,), DType.INT8)
    yield case("int8_first", (4, 16), (0,), DType.INT8)
    yield case("int8_two", (2, 3, 4, 2), (1, 2), DType.INT8)
    yield case("int8_all", (3, 4), (0, 1), DType.INT8)
    yield case("int8_ones", (1, 4, 1), (0,), DType.INT8)


def _keeps_order(bound: BoundOperator[ReverseAttributes]) -> bool:
    return all(bound.input(0).shape[axis] == 1 for axis in bound.attributes.axes)


OPERATOR = OperatorKind(
    name="reverse_v2",
    attributes=ReverseAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"REVERSE_V2": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    is_copy=_keeps_order,
)
