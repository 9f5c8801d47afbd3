"""CONV_2D of float32: four windows are gathered side by side, then multiplied by blocks.

A pointwise convolution needs no gathering: its pixels are columns as they lie.
"""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import over_blocks, over_windows
from uhost.kernels.fpu._blocks import block_values, layer_call, packed, why_not_float
from uhost.kernels.fpu._work import blocks_bytes, blocks_cost, blocks_work
from uhost.kernels.reference._window import leaves_image, window_values
from uhost.kernels.reference._work import GATHERING_BYTES, gathering_work
from uhost.ops.conv_2d import Conv2DAttributes, groups, window_axes


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    return why_not_float(bound) or ("groups of channels" if groups(bound) > 1 else "")


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    x, weights, at = bound.input(0), bound.input(1).constant(), bound.attributes
    rows, columns = window_axes(bound)
    channels_in, channels_out = x.shape[3], weights.shape[0]
    depth = math.prod(weights.shape[1:])
    pointwise = weights.shape[1:3] == at.stride == (1, 1) and not leaves_image(rows, columns)
    pixels = math.prod(x.shape[:3]) if pointwise else rows.output * columns.output
    values = block_values(pixels, depth, channels_out)
    filters = packed(weights.reshape(channels_out, depth), values["channel_block"])
    if pointwise:
        return layer_call(
            bound, "product", at.activation, values, filters, (over_blocks(values, 4),)
        )
    geometry = window_values(x.shape[0], channels_in, channels_out, rows, columns)
    together = values["pixel_block"]
    overlap = over_windows(
        rows,
        columns,
        4 * channels_in,
        4 * channels_out,
        together=together,
        again=-pixels % together,
    )
    gathered = {"element": "float", "blank": "0.0f"}
    return layer_call(
        bound,
        "conv_2d",
        at.activation,
        geometry | values | gathered,
        filters,
        (overlap,) if x.shape[0] == 1 else (),
        together * depth,
    )


def _cost(bound: BoundOperator[Conv2DAttributes], call: KernelCall) -> Cost:
    if call.template == "product":
        return blocks_cost(call)
    x = bound.input(0)
    gathering = gathering_work(*window_axes(bound), 4 * x.shape[3])
    work = (gathering + blocks_work(call.values)) * x.shape[0]
    return Cost(work, blocks_bytes(call.values) + GATHERING_BYTES)


KERNEL = Kernel("conv_2d", _supports, _lower, features=("fpu",), cost=_cost)
