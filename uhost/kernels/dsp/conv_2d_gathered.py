"""CONV_2D whose window has few bytes, such as a network's first layer.

One routine that is made for the window gathers two pixels at once; bytes that fill no word
are joined over the window's rows, where the general kernel pads each row.
"""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import over_windows
from uhost.kernels.dsp import conv_2d
from uhost.kernels.dsp._channels import fold
from uhost.kernels.dsp._lift import ABSENT, Pairs, lifted
from uhost.kernels.dsp._product import product_call
from uhost.kernels.dsp._window import window_values
from uhost.kernels.dsp._window_cost import gathered_cost
from uhost.ops.conv_2d import Conv2DAttributes, window_axes

MOST_WORDS = 32
"""Of a window; the routine spells out every one."""


def gathered_pairs(rows: int, run: int) -> Pairs:
    """Returns the elements of each K pair: whole words of every row, then what is left over."""
    words = run // 4 * 4
    pairs: Pairs = []
    for start in range(0, rows * run, run):
        for k in range(start, start + words, 4):
            pairs += [(k, k + 2), (k + 1, k + 3)]
    rest = [row * run + k for row in range(rows) for k in range(words, run)]
    rest += [ABSENT] * (len(rest) % 2)
    return pairs + list(zip(rest[0::2], rest[1::2], strict=True))


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    reason = conv_2d.KERNEL.supports(bound)
    if reason:
        return reason
    rows, columns = window_axes(bound)
    if bound.attributes.dilation != (1, 1):
        return "dilation"
    run = columns.window * bound.input(0).shape[3]
    if rows.window * (run // 4) > MOST_WORDS or run < 4 or run > 4 * MOST_WORDS:
        return f"a window of less than one or more than {MOST_WORDS} words"
    if rows.window * (run % 4) > MOST_WORDS:
        return "too many bytes that fill no word"
    return "a single output" if rows.output * columns.output < 2 else ""


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    rows, columns = window_axes(bound)
    x = bound.input(0)
    depth = x.shape[3]
    run = columns.window * depth
    channels, pairs, summed = lifted(fold(bound), gathered_pairs(rows.window, run), even=False)
    padded = any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
    patch_bytes = -(-rows.window * run // 4) * 4
    return product_call(
        "conv_2d_gathered",
        bound,
        channels,
        pairs,
        values={
            **window_values(bound, rows, columns),
            "padded": padded,
            "patch_bytes": patch_bytes,
        },
        scratch_bytes=8 * len(pairs) + 2 * patch_bytes * padded,
        overlap=over_windows(rows, columns, depth, bound.output.shape[3], together=2),
        summed=summed,
        includes=(
            f"dsp_gather:rows={rows.window},run={run}",
            *(("dsp_patch",) if padded else ()),
        ),
    )


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",), cost=gathered_cost)
