"""TILE in portable C: a nest of loops in which those that repeat do not advance the input."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.tile import TileAttributes, padded_shape


def _lower(bound: BoundOperator[TileAttributes]) -> KernelCall:
    multiples = bound.attributes.multiples
    shape = padded_shape(bound.input(0).shape, len(multiples))
    # Every axis of the output is two: which repetition, and the index in it.
    split = [size for pair in zip(multiples, shape, strict=True) for size in pair]
    strides = row_major_strides(shape)
    piece = Piece(
        shape=tuple(split),
        source_strides=tuple(stride for own in strides for stride in (0, own)),
        target_strides=row_major_strides(split),
    )
    return lower_copies(bound, [piece])


KERNEL = Kernel(operator="tile", supports=takes_anything, lower=_lower, cost=stated_cost)
