"""DEPTHWISE_CONV_2D of float32 images with int8 weights: each image is made int8 in scratch."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._hybrid import (
    finishing,
    finishing_bytes,
    hybrid_call,
    quantizing,
    supports_hybrid,
)
from uhost.kernels.reference._window import leaves_image, window_values
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes
from uhost.targets._work import Work


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    x = bound.input(0)
    return hybrid_call(
        bound,
        "depthwise_conv_2d_hybrid",
        bound.attributes.activation,
        window_values(x.shape[0], x.shape[3], bound.input(1).shape[3], *window_axes(bound)),
        sample=math.prod(x.shape[1:]),
        symmetric=False,
    )


def _cost(bound: BoundOperator[DepthwiseConv2DAttributes], call: KernelCall) -> Cost:
    values, (rows, columns) = call.values, window_axes(bound)
    lines, taps = int(rows.valid_taps().sum()), int(columns.valid_taps().sum())
    channels = values["channels_out"]
    tap = Work(load=2, multiply=1, alu=4, branch=1)
    line = Work(alu=3, load=1, branch=1)
    each = finishing(values) + Work(alu=10, load=3, store=2, branch=2)
    image = tap * (lines * taps) + line * (lines * columns.output)
    image += each * (rows.output * columns.output)
    work = image * channels + quantizing(values["sample"], symmetric=False)
    padded = 36 * leaves_image(rows, columns)
    return Cost(work * values["batches"], 768 + padded + finishing_bytes(values))


KERNEL = Kernel("depthwise_conv_2d", supports_hybrid, _lower, cost=_cost)
