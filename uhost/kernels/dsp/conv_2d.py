"""CONV_2D of any window: columns of two output pixels times half-widened weights."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._channels import fold, why_not_int8
from uhost.kernels.dsp._product import column_bytes, column_pairs, product_call, why_inexact
from uhost.ops.conv_2d import Conv2DAttributes, window_axes


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    x = bound.input(0)
    if bound.input(1).shape[3] != x.shape[3]:
        return "grouped"
    if x.shape[0] != 1:
        return f"batch of {x.shape[0]}"
    return why_inexact(fold(bound))


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    x = bound.input(0)
    rows, columns = window_axes(bound)
    depth = x.shape[3]
    # Neighbouring taps are read as one run where they are neighbours in memory too.
    taps = columns.window if columns.dilation == 1 else 1
    run = taps * depth
    pixels = rows.output * columns.output
    pairs = column_pairs(run, rows.window * columns.window // taps, even=pixels % 2 == 1)
    padded = any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
    patch_bytes = -(-run // 8) * 8
    # A run of padding, and a patch for each pixel of a pair.
    patches_bytes = patch_bytes * (1 + min(pixels, 2)) if padded else 0
    return product_call(
        "conv_2d",
        bound,
        fold(bound),
        pairs,
        values={
            "size": (rows.size, columns.size),
            "depth": depth,
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "dilation": (rows.dilation, columns.dilation),
            "before": (rows.before, columns.before),
            "outputs": (rows.output, columns.output),
            "taps": taps,
            "padded": padded,
            "patch_bytes": patch_bytes,
            "column_words": column_bytes(pairs, pixels) // 4,
            "zero_point": x.zero_point,
            "aligned": depth % 4 == 0 and run % 8 == 0,
        },
        scratch_bytes=column_bytes(pairs, pixels) + patches_bytes,
        includes=("dsp_run",) if padded else (),
    )


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",))
