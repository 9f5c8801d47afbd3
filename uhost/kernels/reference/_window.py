"""What the templates print of a window over an image."""

from __future__ import annotations

from typing import Any

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


def leaves_image(rows: Axis, columns: Axis) -> bool:
    """True if some window reaches into the padding."""
    return any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
