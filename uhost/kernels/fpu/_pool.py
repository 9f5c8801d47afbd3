"""The call of a float32 pooling, by blocks of channels."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall
from uhost.kernels.fpu._blocks import channel_block, tensor_call
from uhost.kernels.reference._layer import float_values
from uhost.kernels.reference._window import window_overlaps, window_values
from uhost.ops._pooling import PoolAttributes, window_axes

_MOST_CHANNELS = 8


def pool_call(bound: BoundOperator[PoolAttributes], template: str, operation: str) -> KernelCall:
    """Returns the call; `operation` is "average" or "maximum"."""
    x = bound.input(0)
    channels = x.shape[3]
    rows, columns = window_axes(bound)
    values = {
        **window_values(x.shape[0], channels, channels, rows, columns),
        **float_values(bound.attributes.activation),
        "operation": operation,
        "channel_block": channel_block(channels, _MOST_CHANNELS),
    }
    return tensor_call(template, values, window_overlaps(bound, rows, columns))
