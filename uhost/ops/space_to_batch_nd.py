"""Blocks of pixels spread over the batch, after padding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._block import BlockAttributes, blocks_fit, import_blocks, to_batches
from uhost.ops._examples import quantized
from uhost.ops._movement import ANY_TYPE, misfit, moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads, single


def padding_value(output: Tensor) -> int:
    """Returns what stands for zero: the zero point of a quantised int8 tensor, else 0.

    TFLite Micro pads with the number 0 whatever the zero point is; LiteRT does as here.
    """
    is_shifted = output.dtype is DType.INT8 and output.quantization is not None
    return output.zero_point if is_shifted else 0


def _padded(at: BlockAttributes, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(
        before + size + after
        for before, size, after in zip(
            at.before, shape[1 : 1 + len(at.block)], at.after, strict=True
        )
    )


def _infer(bound: BoundOperator[BlockAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, at = bound.input(0), bound.attributes
    require_moved(source, bound.output)
    shape = source.shape
    if not blocks_fit(at, shape) or any(
        size % block for size, block in zip(_padded(at, shape), at.block, strict=True)
    ):
        raise misfit(
            bound,
            f"{list(shape)} padded by {list(at.before)} and {list(at.after)} "
            f"does not consist of blocks {list(at.block)}",
        )
    pixels = tuple(size // b for size, b in zip(_padded(at, shape), at.block, strict=True))
    batches = shape[0] * math.prod(at.block)
    return [((batches, *pixels, *shape[1 + len(at.block) :]), source.dtype)]


def _reference(
    bound: BoundOperator[BlockAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, at = inputs[0], bound.attributes
    assert source is not None
    margins = list(zip(at.before, at.after, strict=True))
    margins = [(0, 0), *margins, *[(0, 0)] * (source.ndim - 1 - len(at.block))]
    padded = np.pad(source, margins, constant_values=padding_value(bound.output))
    return [to_batches(padded, at.block)]


def _import_tflite(node: SourceNode) -> Imported:
    source, attributes = import_blocks(node, "paddings")
    return Imported(attributes, (source,))


def _examples() -> Iterable[Example]:
    def case(
        name: str, shape: tuple[int, ...], at: BlockAttributes, result: tuple[int, ...]
    ) -> Example:
        return moved("space_to_batch_nd", name, at, shape, result, DType.INT8)

    two = BlockAttributes((2, 2), (0, 0), (0, 0))
    for dtype in ANY_TYPE:
        yield moved("space_to_batch_nd", str(dtype), two, (1, 4, 6, 3), (4, 2, 3, 3), dtype)
    yield case("int8_batches", (2, 2, 4, 1), BlockAttributes((1, 2), (0, 0), (0, 0)), (4, 2, 2, 1))
    yield case("int8_line", (1, 6, 4), BlockAttributes((3,), (2,), (1,)), (3, 3, 4))
    padded = BlockAttributes((2, 3), (1, 0), (0, 2))
    yield case("int8_padded", (1, 3, 4, 2), padded, (6, 2, 2, 2))
    tensors = quantized("input", (1, 3, 4, 2), 0.5, -9), quantized("output", (6, 2, 2, 2), 0.5, -9)
    graph = single("int8_zero_point", "space_to_batch_nd", padded, tensors[:1], tensors[1:])
    yield Example("int8_zero_point", graph, ("int8",))
    yield case("int8_whole", (1, 2, 3, 1), BlockAttributes((2, 3), (0, 0), (0, 0)), (6, 1, 1, 1))


OPERATOR = OperatorKind(
    name="space_to_batch_nd",
    attributes=BlockAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SPACE_TO_BATCH_ND": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL),
)
