"""Padding with the tensor's own elements, mirrored at its borders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import tflite

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, misfit, moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads
from uhost.ops._tflite import check_counts, constant_integers, malformed, options_table


@dataclass(frozen=True, slots=True)
class MirrorPadAttributes(Attributes):
    """Elements added before and after each axis.

    `repeats_border`: the first element outside is the border's own (SYMMETRIC), not its
    neighbour (REFLECT).
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    repeats_border: bool


def _infer(bound: BoundOperator[MirrorPadAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, at = bound.input(0), bound.attributes
    require_moved(source, bound.output)
    sizes = source.shape
    # No more than what is there to be mirrored.
    fits = len(at.before) == len(at.after) == len(sizes) and all(
        0 <= amount <= size - (not at.repeats_border)
        for amounts in (at.before, at.after)
        for amount, size in zip(amounts, sizes, strict=True)
    )
    if not fits:
        raise misfit(
            bound, f"mirrored padding {list(at.before)} and {list(at.after)} of {list(sizes)}"
        )
    padded = zip(at.before, sizes, at.after, strict=True)
    return [(tuple(sum(size) for size in padded), source.dtype)]


def _reference(
    bound: BoundOperator[MirrorPadAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, at = inputs[0], bound.attributes
    assert source is not None
    amounts = list(zip(at.before, at.after, strict=True))
    return [np.pad(source, amounts, "symmetric" if at.repeats_border else "reflect")]


def _import_tflite(node: SourceNode) -> Imported:
    source, paddings = check_counts(node, 2)
    options = options_table(node, "MirrorPadOptions")
    mode = options.Mode() if options is not None else tflite.MirrorPadMode.REFLECT
    amounts = constant_integers(node, paddings, "paddings")
    rank = len(source.shape)
    if paddings.shape != (rank, 2):
        raise malformed(node, f"paddings of shape {list(paddings.shape)} for rank {rank}")
    repeats = mode == tflite.MirrorPadMode.SYMMETRIC
    return Imported(MirrorPadAttributes(amounts[0::2], amounts[1::2], repeats), (source,))


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shape: tuple[int, ...],
        before: tuple[int, ...],
        after: tuple[int, ...],
        repeats: bool,
        dtype: DType = DType.INT8,
    ) -> Example:
        padded = tuple(b + s + a for b, s, a in zip(before, shape, after, strict=True))
        attributes = MirrorPadAttributes(before, after, repeats)
        return moved("mirror_pad", name, attributes, shape, padded, dtype)

    for dtype in ANY_TYPE:
        yield case(str(dtype), (3, 4), (2, 1), (1, 3), False, dtype)
    yield case("int8_symmetric", (3, 4), (3, 1), (2, 4), True)
    yield case("int8_image", (1, 5, 4, 3), (0, 2, 1, 0), (0, 1, 2, 0), False)
    yield case("int8_image_symmetric", (1, 3, 4, 5), (0, 1, 1, 0), (0, 1, 1, 0), True)
    yield case("int8_every_axis", (2, 2, 3, 2), (1, 0, 2, 1), (0, 1, 1, 1), True)
    yield case("int8_vector", (6,), (5,), (0,), False)
    yield case("int8_nothing", (2, 3), (0, 0), (0, 0), False)


OPERATOR = OperatorKind(
    name="mirror_pad",
    attributes=MirrorPadAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"MIRROR_PAD": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL),
    is_copy=lambda bound: not any((*bound.attributes.before, *bound.attributes.after)),
)
