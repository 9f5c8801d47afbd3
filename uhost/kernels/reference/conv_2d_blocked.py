"""CONV_2D of int8 by blocks: two windows are gathered side by side, then multiplied.

A pointwise convolution needs no gathering: its pixels are columns as they lie.
"""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import over_blocks, over_windows
from uhost.kernels.reference._blocks import block_values, short_call, why_not_short
from uhost.kernels.reference._window import leaves_image, window_values
from uhost.kernels.reference._work import (
    GATHERING_BYTES,
    blocks_bytes,
    blocks_cost,
    blocks_work,
    gathering_work,
)
from uhost.ops.conv_2d import Conv2DAttributes, groups, window_axes


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    return why_not_short(bound) or ("groups of channels" if groups(bound) > 1 else "")


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    x, weights, at = bound.input(0), bound.input(1), bound.attributes
    rows, columns = window_axes(bound)
    channels_in, channels_out = x.shape[3], weights.shape[0]
    if weights.shape[1:3] == at.stride == (1, 1) and not leaves_image(rows, columns):
        geometry = block_values(math.prod(x.shape[:3]), channels_in, channels_out)
        overlap = over_blocks(geometry, 1)
        return short_call(bound, "product_blocked", at.activation, geometry, (overlap,))
    blocks = block_values(rows.output * columns.output, math.prod(weights.shape[1:]), channels_out)
    together = blocks["pixel_block"]
    again = -blocks["pixels"] % together
    overlap = over_windows(rows, columns, channels_in, channels_out, together=together, again=again)
    return short_call(
        bound,
        "conv_2d_blocked",
        at.activation,
        window_values(x.shape[0], channels_in, channels_out, rows, columns)
        | blocks
        | {"element": "int8_t", "blank": x.zero_point},
        (overlap,) if x.shape[0] == 1 else (),
        ("columns", blocks["pixel_block"] * blocks["depth"]),
    )


def _cost(bound: BoundOperator[Conv2DAttributes], call: KernelCall) -> Cost:
    values = call.values
    if call.template == "product_blocked":
        return blocks_cost(call)
    rows, columns = window_axes(bound)
    gathering = gathering_work(rows, columns, bound.input(0).shape[3])
    work = (gathering + blocks_work(values)) * bound.input(0).shape[0]
    return Cost(work, blocks_bytes(values) + GATHERING_BYTES)


KERNEL = Kernel("conv_2d", _supports, _lower, cost=_cost)
