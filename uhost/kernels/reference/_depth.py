"""SPACE_TO_DEPTH, and the other way DEPTH_TO_SPACE, as one copy of rows of blocks."""

from __future__ import annotations

from collections.abc import Sequence

from uhost.kernels.reference._copy import Piece


def depth_piece(image: Sequence[int], block: int) -> Piece:
    """Returns the copy from an image to one whose pixels are its blocks."""
    batches, rows, columns, channels = image
    line = columns * channels
    run = block * channels
    return Piece(
        (batches * rows // block, block, columns // block, run),
        (block * line, line, run, 1),
        (block * line, run, block * run, 1),
    )
