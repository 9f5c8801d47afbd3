"""CONV_2D of float32 images with int8 weights: each image is made int8 first, in scratch."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._hybrid import hybrid_call, supports_hybrid
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._window import window_values
from uhost.ops._weighted import hybrid_scales
from uhost.ops.conv_2d import Conv2DAttributes, groups, window_axes


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    x, weights = bound.input(0), bound.input(1)
    geometry = {
        **window_values(x.shape[0], x.shape[3], weights.shape[0], *window_axes(bound)),
        "groups": groups(bound),
        "filter_channels": weights.shape[3],
    }
    return hybrid_call(
        bound,
        "conv_2d_hybrid",
        bound.attributes.activation,
        geometry,
        sample=math.prod(x.shape[1:]),
        symmetric=hybrid_scales(bound).size == 1,
    )


KERNEL = Kernel("conv_2d", supports_hybrid, _lower, cost=stated_cost, is_fallback=True)
