"""Blocks of pixels gathered from the batch, then cropped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._block import BlockAttributes, blocks_fit, from_batches, import_blocks
from uhost.ops._movement import ANY_TYPE, misfit, moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads


def _infer(bound: BoundOperator[BlockAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, at = bound.input(0), bound.attributes
    require_moved(source, bound.output)
    shape, axes = source.shape, len(at.block)
    pixels: tuple[int, ...] = ()
    if blocks_fit(at, shape):
        pixels = tuple(
            size * block - before - after
            for size, block, before, after in zip(
                shape[1 : 1 + axes], at.block, at.before, at.after, strict=True
            )
        )
    if len(pixels) != axes or min(pixels, default=1) < 1 or shape[0] % math.prod(at.block):
        raise misfit(
            bound,
            f"{list(shape)} cannot be joined in blocks {list(at.block)} "
            f"and cropped by {list(at.before)} and {list(at.after)}",
        )
    return [((shape[0] // math.prod(at.block), *pixels, *shape[1 + axes :]), source.dtype)]


def _reference(
    bound: BoundOperator[BlockAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, at = inputs[0], bound.attributes
    assert source is not None
    joined = from_batches(source, at.block)
    sizes = bound.output.shape[1 : 1 + len(at.block)]
    inside = [slice(first, first + n) for first, n in zip(at.before, sizes, strict=True)]
    return [np.ascontiguousarray(joined[(slice(None), *inside)])]


def _import_tflite(node: SourceNode) -> Imported:
    source, attributes = import_blocks(node, "crops")
    return Imported(attributes, (source,))


def _examples() -> Iterable[Example]:
    def case(
        name: str, shape: tuple[int, ...], at: BlockAttributes, result: tuple[int, ...]
    ) -> Example:
        return moved("batch_to_space_nd", name, at, shape, result, DType.INT8)

    two = BlockAttributes((2, 2), (0, 0), (0, 0))
    for dtype in ANY_TYPE:
        yield moved("batch_to_space_nd", str(dtype), two, (4, 2, 3, 3), (1, 4, 6, 3), dtype)
    yield case("int8_batches", (4, 2, 2, 1), BlockAttributes((1, 2), (0, 0), (0, 0)), (2, 2, 4, 1))
    yield case("int8_line", (3, 3, 4), BlockAttributes((3,), (2,), (1,)), (1, 6, 4))
    yield case("int8_cropped", (6, 2, 2, 2), BlockAttributes((2, 3), (1, 0), (0, 2)), (1, 3, 4, 2))
    yield case("int8_pixel", (6, 1, 1, 1), BlockAttributes((2, 3), (1, 1), (0, 1)), (1, 1, 1, 1))


OPERATOR = OperatorKind(
    name="batch_to_space_nd",
    attributes=BlockAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"BATCH_TO_SPACE_ND": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL),
)
