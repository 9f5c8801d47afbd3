"""What the templates print of a window over an image."""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._overlap import Overlap, over_windows
from uhost.ops._window import Axis


def window_values(
    batches: int, channels_in: int, channels_out: int, rows: Axis, columns: Axis
) -> dict[str, Any]:
    """Returns sizes, steps and borders; a name ends in `_y` for rows and `_x` for columns."""
    values: dict[str, Any] = {
        "batches": batches,
        "channels_in": channels_in,
        "channels_out": channels_out,
    }
    for letter, axis in (("y", rows), ("x", columns)):
        values |= {
            f"size_{letter}": axis.size,
            f"output_{letter}": axis.output,
            f"window_{letter}": axis.window,
            f"stride_{letter}": axis.stride,
            f"dilation_{letter}": axis.dilation,
            f"before_{letter}": axis.before,
            f"starts_outside_{letter}": axis.starts_outside,
            f"ends_outside_{letter}": axis.ends_outside,
        }
    return values


def window_overlaps(bound: BoundOperator[Any], rows: Axis, columns: Axis) -> tuple[Overlap, ...]:
    """Returns where input and output may share bytes if every output reads its window.

    Outputs come in their order: the channels of a pixel after one another.
    """
    x, output = bound.input(0), bound.output
    if x.shape[0] != 1 or x.dtype is not output.dtype:
        return ()
    size = x.dtype.size_bytes
    pixel, result = x.shape[3] * size, output.shape[3] * size
    return (over_windows(rows, columns, pixel, result, reads_first=output.shape[3] == 1),)


def leaves_image(rows: Axis, columns: Axis) -> bool:
    """True if some window reaches into the padding."""
    return any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
