"""Sliding windows: padding, output extents, and the part of an image that one tap reads.

An operator with a window has one `Axis` for rows and one for columns. Output
element `o` of an axis reads the input elements `o·stride - before + tap·dilation`;
those outside the input are padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.tensor import Array
from uhost.ops._op import Padding2D, UnsupportedNodeError

_LARGEST_EXTENT = 1 << 20
"""Strides, dilations, windows and pads beyond this are no model's; products stay in 64 bits."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a window over an image: sizes in elements, `before` and `after` are padding."""

    size: int
    window: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def span(self) -> int:
        """Elements from the first tap to the last, both counted."""
        return (self.window - 1) * self.dilation + 1

    @property
    def output(self) -> int:
        """Output elements; zero or less where the window is larger than the padded input."""
        return (self.size + self.before + self.after - self.span) // self.stride + 1

    @property
    def starts_outside(self) -> bool:
        """True if some window begins before the first element."""
        return self.before > 0

    @property
    def ends_outside(self) -> bool:
        """True if some window ends after the last element."""
        return (self.output - 1) * self.stride - self.before + self.span > self.size

    def taps(self) -> Iterator[slice]:
        """Yields for each tap the elements of the *padded* axis that it reads, output by output."""
        for tap in range(self.window):
            first = tap * self.dilation
            yield slice(first, first + (self.output - 1) * self.stride + 1, self.stride)

    def valid_taps(self) -> Array:
        """Returns for each output the number of taps that lie on the input (int64)."""
        first = np.arange(self.output) * self.stride - self.before
        taps = first[:, None] + np.arange(self.window)[None, :] * self.dilation
        return ((taps >= 0) & (taps < self.size)).sum(axis=1)


def axes(
    image: tuple[int, ...],
    window: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    padding: Padding2D,
    where: str,
) -> tuple[Axis, Axis]:
    """Returns rows and columns of a window over an NHWC image, checked.

    Raises `MalformedModelError` for a size that is not positive, a negative padding, and
    a window that is larger than the padded image.
    """
    check_positive("stride", stride, where)
    check_positive("dilation", dilation, where)
    check_positive("window", window, where)
    pads = (padding.top, padding.left, padding.bottom, padding.right)
    if min(pads) < 0 or max(pads) > _LARGEST_EXTENT:
        raise MalformedModelError(f"padding {padding} is out of range", where=where)
    rows = Axis(image[1], window[0], stride[0], dilation[0], padding.top, padding.bottom)
    columns = Axis(image[2], window[1], stride[1], dilation[1], padding.left, padding.right)
    if rows.output < 1 or columns.output < 1:
        raise MalformedModelError(
            f"a window of {rows.span}x{columns.span} does not fit an image of "
            f"{image[1]}x{image[2]} with padding {padding}",
            where=where,
        )
    return rows, columns


def check_positive(what: str, pair: tuple[int, int], where: str) -> None:
    """Raises `MalformedModelError` unless both numbers are positive and of a sane size."""
    if min(pair) < 1 or max(pair) > _LARGEST_EXTENT:
        raise MalformedModelError(f"{what} {pair[0]}x{pair[1]} is out of range", where=where)


def tflite_padding(
    scheme: int,
    image: tuple[int, ...],
    window: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    where: str,
) -> Padding2D:
    """Returns the explicit padding of a TFLite padding scheme (0 SAME, 1 VALID).

    SAME gives ceil(size / stride) outputs; of an odd total the larger half comes last.
    """
    if scheme == 1:
        return Padding2D()
    if scheme != 0:
        raise UnsupportedNodeError(f"padding scheme {scheme}")
    check_positive("stride", stride, where)
    check_positive("dilation", dilation, where)
    check_positive("window", window, where)
    top, bottom = _same(image[1], window[0], stride[0], dilation[0])
    left, right = _same(image[2], window[1], stride[1], dilation[1])
    return Padding2D(top, left, bottom, right)


def _same(size: int, window: int, stride: int, dilation: int) -> tuple[int, int]:
    output = -(-size // stride)
    total = max((output - 1) * stride + (window - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def pad_image(image: Array, rows: Axis, columns: Axis, fill: float) -> Array:
    """Returns an NHWC array extended by `fill` so that every tap of every window is inside."""
    extents = []
    for axis in (rows, columns):
        needed = (axis.output - 1) * axis.stride + axis.span
        extents.append((axis.before, max(needed - axis.before - axis.size, 0)))
    if not any(extent for pair in extents for extent in pair):
        return image
    return np.pad(image, ((0, 0), *extents, (0, 0)), constant_values=fill)
