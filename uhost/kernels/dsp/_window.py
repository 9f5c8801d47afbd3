"""The call of the kernel that gathers a window into columns and multiplies those."""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall
from uhost.kernels._overlap import over_windows
from uhost.kernels.dsp._channels import fold
from uhost.kernels.dsp._lift import lifted
from uhost.kernels.dsp._product import column_bytes, column_pairs, product_call
from uhost.ops._window import Axis


def window_values(bound: BoundOperator[Any], rows: Axis, columns: Axis) -> dict[str, Any]:
    """Returns what the templates of kernels with a window print of it and of its image."""
    x = bound.input(0)
    return {
        "size": (rows.size, columns.size),
        "depth": x.shape[3],
        "window": (rows.window, columns.window),
        "stride": (rows.stride, columns.stride),
        "before": (rows.before, columns.before),
        "outputs": (rows.output, columns.output),
        "zero_point": x.zero_point,
    }


def window_call(bound: BoundOperator[Any], rows: Axis, columns: Axis) -> KernelCall:
    """Returns the call for a layer whose every output reads all channels of a window."""
    x = bound.input(0)
    depth = x.shape[3]
    # Neighbouring taps are read as one run where they are neighbours in memory too.
    taps = columns.window if columns.dilation == 1 else 1
    run = taps * depth
    pixels = rows.output * columns.output
    even = pixels % 2 == 1
    pairs = column_pairs(run, rows.window * columns.window // taps, even=even)
    channels, pairs, summed = lifted(fold(bound), pairs, even=even)
    padded = any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
    patch_bytes = -(-run // 8) * 8
    # A run of padding, and a patch for each pixel of a pair.
    patches_bytes = patch_bytes * (1 + min(pixels, 2)) if padded else 0
    return product_call(
        "conv_2d",
        bound,
        channels,
        pairs,
        values={
            **window_values(bound, rows, columns),
            "dilation": (rows.dilation, columns.dilation),
            "taps": taps,
            "padded": padded,
            "patch_bytes": patch_bytes,
            "column_words": column_bytes(pairs, pixels) // 4,
            "aligned": depth % 4 == 0 and run % 8 == 0,
        },
        scratch_bytes=column_bytes(pairs, pixels) + patches_bytes,
        overlap=over_windows(rows, columns, depth, bound.output.shape[3], together=2),
        summed=summed,
        includes=("dsp_run",) if padded else (),
    )
