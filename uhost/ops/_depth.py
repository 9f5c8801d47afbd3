"""What SPACE_TO_DEPTH and DEPTH_TO_SPACE share: square blocks of pixels as channels."""

from __future__ import annotations

from dataclasses import dataclass

from uhost.ir.graph import Attributes
from uhost.ir.tensor import Array


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
