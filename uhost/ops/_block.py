"""Blocks of pixels moved between spatial axes and others: which pixel goes where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.graph import Attributes
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import SourceNode
from uhost.ops._tflite import check_counts, constant_integers, malformed


@dataclass(frozen=True, slots=True)
class BlockAttributes(Attributes):
    """Size of the blocks along the axes from 1 on, and elements added or cut off there."""

    block: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]


def import_blocks(node: SourceNode, role: str) -> tuple[Tensor, BlockAttributes]:
    """Returns the source and the attributes of an operator with a block shape and `role`."""
    source, block_shape, amounts = check_counts(node, 3)
    block = constant_integers(node, block_shape, "block shape")
    margins = constant_integers(node, amounts, role)
    if amounts.shape != (len(block), 2) or len(block) >= len(source.shape):
        raise malformed(
            node,
            f"{role} of shape {list(amounts.shape)} for blocks {list(block)} "
            f"of a tensor of rank {len(source.shape)}",
        )
    return source, BlockAttributes(block, margins[0::2], margins[1::2])


def blocks_fit(at: BlockAttributes, shape: Sequence[int]) -> bool:
    """True if blocks and margins are those of a tensor of `shape`, and none is negative."""
    return (
        len(at.block) == len(at.before) == len(at.after) < len(shape)
        and min(at.block, default=1) > 0
        and min((*at.before, *at.after), default=0) >= 0
    )


def to_batches(values: Array, block: Sequence[int]) -> Array:
    """Returns an array whose first axis counts (place in the block, batch), the block's first."""
    axes = len(block)
    batches, spatial, rest = values.shape[0], values.shape[1 : 1 + axes], values.shape[1 + axes :]
    split = [n for size, b in zip(spatial, block, strict=True) for n in (size // b, b)]
    taken = values.reshape(batches, *split, *rest)
    order = [2 + 2 * axis for axis in range(axes)] + [0] + [1 + 2 * axis for axis in range(axes)]
    order += range(1 + 2 * axes, taken.ndim)
    shape = [size // b for size, b in zip(spatial, block, strict=True)]
    return taken.transpose(order).reshape(-1, *shape, *rest)


def from_batches(values: Array, block: Sequence[int]) -> Array:
    """Returns the array of which `to_batches` made `values`."""
    axes = len(block)
    batches = values.shape[0] // int(np.prod(block))
    spatial, rest = values.shape[1 : 1 + axes], values.shape[1 + axes :]
    taken = values.reshape(*block, batches, *spatial, *rest)
    order = [axes]
    for axis in range(axes):
        order += [axes + 1 + axis, axis]
    order += range(1 + 2 * axes, taken.ndim)
    shape = [size * b for size, b in zip(spatial, block, strict=True)]
    return taken.transpose(order).reshape(batches, *shape, *rest)
