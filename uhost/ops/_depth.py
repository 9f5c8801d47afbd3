"""What SPACE_TO_DEPTH and DEPTH_TO_SPACE share: square blocks of pixels as channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, moved
from uhost.ops._op import Example, Imported, Importer, SourceNode
from uhost.ops._tflite import check_counts, malformed, options_table


@dataclass(frozen=True, slots=True)
class DepthAttributes(Attributes):
    """Rows and columns of a block; its pixels are in row-major order in the channels."""

    block: int


def as_depth(image: Array, block: int) -> Array:
    """Returns an image (batch, row, column, channel) with each block of pixels as one."""
    batches, rows, columns, channels = image.shape
    split = image.reshape(batches, rows // block, block, columns // block, block, channels)
    shape = batches, rows // block, columns // block, block * block * channels
    return split.transpose(0, 1, 3, 2, 4, 5).reshape(shape)


def as_space(image: Array, block: int) -> Array:
    """Returns the image of which `as_depth` made `image`."""
    batches, rows, columns, channels = image.shape
    split = image.reshape(batches, rows, columns, block, block, channels // (block * block))
    shape = batches, rows * block, columns * block, channels // (block * block)
    return split.transpose(0, 1, 3, 2, 4, 5).reshape(shape)


def import_block(table: str) -> Importer:
    """Returns the importer of an operator whose options `table` have the size of a block."""

    def importer(node: SourceNode) -> Imported:
        inputs = check_counts(node, 1)
        options = options_table(node, table)
        if options is None:
            raise malformed(node, "the operator has no options")
        return Imported(DepthAttributes(options.BlockSize()), inputs)

    return importer


def block_examples(kind: str, *, into_depth: bool) -> Iterator[Example]:
    """Yields examples: small images of every type as blocks of pixels, or back."""
    cases = [(f"{dtype}", 2, (1, 4, 6, 3), (1, 2, 3, 12), dtype) for dtype in ANY_TYPE]
    cases += [
        ("int8_batches", 3, (2, 3, 6, 1), (2, 1, 2, 9), DType.INT8),
        ("int8_whole", 4, (1, 4, 4, 2), (1, 1, 1, 32), DType.INT8),
        ("int8_one", 1, (1, 2, 3, 5), (1, 2, 3, 5), DType.INT8),
    ]
    for name, block, space, depth, dtype in cases:
        source, result = (space, depth) if into_depth else (depth, space)
        yield moved(kind, name, DepthAttributes(block), source, result, dtype)
