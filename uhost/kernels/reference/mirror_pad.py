"""MIRROR_PAD in portable C: the input in its place, then axis after axis its mirror images.

The images of an axis are copied within the output. They take in what the axes before them
have added, so that corners come of themselves.
"""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import OUTPUT, Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.mirror_pad import MirrorPadAttributes


def _lower(bound: BoundOperator[MirrorPadAttributes]) -> KernelCall:
    shape, at = bound.input(0).shape, bound.attributes
    strides = row_major_strides(bound.output.shape)
    first = list(at.before)  # of what is there already, along each axis
    done = list(shape)

    def start() -> int:
        return sum(index * stride for index, stride in zip(first, strides, strict=True))

    pieces = [Piece(shape, row_major_strides(shape), strides, target_start=start())]
    skipped = 0 if at.repeats_border else 1
    for axis, (before, after) in enumerate(zip(at.before, at.after, strict=True)):
        step, inside = strides[axis], start()
        last = inside + (shape[axis] - 1) * step
        images = (before, inside, -1), (after, last, 1)
        for amount, border, outward in images:
            box = (*done[:axis], amount, *done[axis + 1 :])
            away = tuple(s * outward if n == axis else s for n, s in enumerate(strides))
            back = tuple(-s * outward if n == axis else s for n, s in enumerate(strides))
            if amount:
                pieces.append(
                    Piece(
                        box,
                        back,
                        away,
                        source_start=border - skipped * outward * step,
                        target_start=border + outward * step,
                        source=OUTPUT,
                    )
                )
        first[axis], done[axis] = 0, bound.output.shape[axis]
    return lower_copies(bound, pieces)


KERNEL = Kernel(operator="mirror_pad", supports=takes_anything, lower=_lower, cost=stated_cost)
