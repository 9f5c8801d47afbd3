"""A tensor repeated along its axes: TILE and, for axes of size 1, BROADCAST_TO."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, misfit, moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import check_counts, constant_integers, malformed


@dataclass(frozen=True, slots=True)
class TileAttributes(Attributes):
    """How often the input is repeated along each axis of the output.

    Where the output has more axes, the input has axes of size 1 in front.
    """

    multiples: tuple[int, ...]


def padded_shape(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Returns `shape` with axes of size 1 in front, to have `rank` axes."""
    return (1,) * (rank - len(shape)) + shape


def _infer(bound: BoundOperator[TileAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, multiples = bound.input(0), bound.attributes.multiples
    require_moved(source, bound.output)
    if len(multiples) < len(source.shape) or min(multiples, default=1) < 1:
        raise misfit(bound, f"{list(source.shape)} repeated {list(multiples)} times")
    sizes = zip(padded_shape(source.shape, len(multiples)), multiples, strict=True)
    return [(tuple(size * times for size, times in sizes), source.dtype)]


def _reference(
    bound: BoundOperator[TileAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [np.tile(source, bound.attributes.multiples)]


def _import_tile(node: SourceNode) -> Imported:
    source, operand = check_counts(node, 2)
    multiples = constant_integers(node, operand, "multiples")
    if len(multiples) != len(source.shape):
        raise malformed(node, f"{len(multiples)} multiples for rank {len(source.shape)}")
    return Imported(TileAttributes(multiples), (source,))


def _import_broadcast_to(node: SourceNode) -> Imported:
    source, operand = check_counts(node, 2)
    shape = constant_integers(node, operand, "shape")
    before = padded_shape(source.shape, len(shape))
    fits = len(source.shape) <= len(shape) and all(
        size in (1, wanted) for size, wanted in zip(before, shape, strict=True)
    )
    if not fits:
        raise malformed(node, f"{list(source.shape)} cannot be broadcast to {list(shape)}")
    multiples = tuple(wanted // size for size, wanted in zip(before, shape, strict=True))
    return Imported(TileAttributes(multiples), (source,))


def _examples() -> Iterable[Example]:
    def case(
        name: str, shape: tuple[int, ...], multiples: tuple[int, ...], dtype: DType
    ) -> Example:
        sizes = zip(padded_shape(shape, len(multiples)), multiples, strict=True)
        result = tuple(size * times for size, times in sizes)
        return moved("tile", name, TileAttributes(multiples), shape, result, dtype)

    for dtype in ANY_TYPE:
        yield case(f"{dtype}_twice", (2, 3), (3, 2), dtype)
    yield case("int8_whole", (2, 9), (3, 1), DType.INT8)
    yield case("int8_inner", (2, 3, 4), (1, 2, 1), DType.INT8)
    yield case("int8_scalar", (), (4, 5), DType.INT8)
    yield case("int8_new_axes", (1, 3), (2, 4, 1), DType.INT8)
    yield case("int8_last", (3, 1), (1, 8), DType.INT8)
    yield case("int8_once", (3, 2), (1, 1), DType.INT8)


def is_broadcast(bound: BoundOperator[TileAttributes]) -> bool:
    """True if only axes of size 1 are repeated."""
    multiples = bound.attributes.multiples
    shape = padded_shape(bound.input(0).shape, len(multiples))
    return all(1 in pair for pair in zip(shape, multiples, strict=True))


OPERATOR = OperatorKind(
    name="tile",
    attributes=TileAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"TILE": _import_tile, "BROADCAST_TO": _import_broadcast_to}},
    examples=_examples,
    takes_uint8=True,
    by_litert=lambda bound: not is_broadcast(bound),
    is_copy=lambda bound: all(times == 1 for times in bound.attributes.multiples),
)
