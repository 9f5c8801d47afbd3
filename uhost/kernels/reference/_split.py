"""SPLIT and SPLIT_V in portable C: one copy per output."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.ops._split import SplitAttributes


def lower_split(bound: BoundOperator[SplitAttributes]) -> KernelCall:
    """Returns the call that copies every piece to its output."""
    source, axis = bound.input(0), bound.attributes.axis
    blocks, block = math.prod(source.shape[:axis]), math.prod(source.shape[axis:])
    pieces, start = [], 0
    for number, tensor in enumerate(bound.outputs):
        piece = math.prod(tensor.shape[axis:])
        pieces.append(
            Piece((blocks, piece), (block, 1), (piece, 1), source_start=start, target=number)
        )
        start += piece
    return lower_copies(bound, pieces)
