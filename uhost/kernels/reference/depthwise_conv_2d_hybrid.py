"""DEPTHWISE_CONV_2D of float32 images with int8 weights: each image is made int8 in scratch."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._hybrid import hybrid_call, supports_hybrid
from uhost.kernels.reference._window import window_values
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes


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


KERNEL = Kernel("depthwise_conv_2d", supports_hybrid, _lower)
