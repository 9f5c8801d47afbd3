"""TRANSPOSE_CONV in portable C: each output gathers the input pixels whose windows reach it."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._layer import layer_call, supports_layer
from uhost.ops.transpose_conv import TransposeConvAttributes, window_axes


def _lower(bound: BoundOperator[TransposeConvAttributes]) -> KernelCall:
    x, weights = bound.input(0), bound.input(1)
    rows, columns = window_axes(bound)
    geometry = {
        "batches": x.shape[0],
        "channels_in": x.shape[3],
        "channels_out": weights.shape[0],
        "size_y": x.shape[1],
        "size_x": x.shape[2],
        "output_y": rows.size,
        "output_x": columns.size,
        "window_y": rows.window,
        "window_x": columns.window,
        "stride_y": rows.stride,
        "stride_x": columns.stride,
        "before_y": rows.before,
        "before_x": columns.before,
    }
    # Not every output has all taps: the zero point cannot go into the bias.
    return layer_call(bound, "transpose_conv", bound.attributes.activation, geometry, pads=True)


KERNEL = Kernel("transpose_conv", supports_layer, _lower, cost=stated_cost, is_fallback=True)
