"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND as copies, one per place in the block."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from uhost.kernels.reference._copy import Piece
from uhost.kernels.reference._nest import row_major_strides
from uhost.ops._block import BlockAttributes


def block_pieces(
    at: BlockAttributes, image: Sequence[int], batches: Sequence[int]
) -> Iterator[Piece]:
    """Yields the copies from a tensor of shape `image` to one of shape `batches`.

    What the margins of the attributes add or cut off has no pixel in the image.
    """
    axes = len(at.block)
    rest = math.prod(image[1 + axes :])
    image_steps = row_major_strides((*image[: 1 + axes], rest))
    batch_steps = row_major_strides((*batches[: 1 + axes], rest))
    for number, places in enumerate(itertools.product(*map(range, at.block))):
        first = [
            (place - before) % block
            for place, before, block in zip(places, at.before, at.block, strict=True)
        ]
        counts = [
            -(-(size - start) // block)
            for size, start, block in zip(image[1:], first, at.block, strict=False)
        ]
        into = [
            (start + before) // block
            for start, before, block in zip(first, at.before, at.block, strict=True)
        ]
        if min(counts) < 1:
            continue
        yield Piece(
            (image[0], *counts, rest),
            (
                image_steps[0],
                *(s * b for s, b in zip(image_steps[1:-1], at.block, strict=True)),
                1,
            ),
            (*batch_steps[:-1], 1),
            source_start=sum(n * s for n, s in zip(first, image_steps[1:], strict=False)),
            target_start=number * image[0] * batch_steps[0]
            + sum(n * s for n, s in zip(into, batch_steps[1:], strict=False)),
        )


def reversed_piece(piece: Piece) -> Piece:
    """Returns the copy the other way."""
    return Piece(
        piece.shape,
        piece.target_strides,
        piece.source_strides,
        piece.target_start,
        piece.source_start,
    )
