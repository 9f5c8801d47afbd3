"""GATHER in portable C: by constant indices at even steps one copy, else a copy per index."""

from __future__ import annotations

import math

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._gather import Rows, lower_rows
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.gather import GatherAttributes


def _lower(bound: BoundOperator[GatherAttributes]) -> KernelCall:
    source, indices = bound.input(0), bound.input(1)
    axis, batch = bound.attributes.axis, bound.attributes.batch_axes
    rows = Rows(
        batches=math.prod(source.shape[:batch]),
        outer=math.prod(source.shape[batch:axis]),
        count=math.prod(indices.shape[batch:]),
        size=source.shape[axis],
        run=math.prod(source.shape[axis + 1 :]),
    )
    if indices.values is not None and rows.batches == 1:
        steps = np.diff(indices.values.reshape(-1).astype(np.int64))
        if len(set(steps.tolist())) <= 1:
            first = int(indices.values.reshape(-1)[0])
            step = int(steps[0]) if len(steps) else 1
            block = rows.size * rows.run
            piece = Piece(
                (rows.outer, rows.count, rows.run),
                (block, step * rows.run, 1),
                (rows.count * rows.run, rows.run, 1),
                source_start=first * rows.run,
            )
            return lower_copies(bound, [piece])
    return lower_rows(bound, rows, 0, 1)


KERNEL = Kernel(operator="gather", supports=takes_anything, lower=_lower, cost=stated_cost)
