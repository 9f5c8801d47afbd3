"""Sliding windows: padding, output extents, and the part of an image that one tap reads.

An operator with a window has one `Axis` for rows and one for columns. Output
element `o` of an axis reads the input elements `o·stride - before + tap·dilation`;
those outside the input are padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.errors import MalformedModelError
from uhost.ops._op import Padding2D, UnsupportedNodeError

_LARGEST_STEP = 1 << 16
_LARGEST_SPAN = 1 << 20
"""Beyond these is no model; below them every offset that generated code computes fits int32."""


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

    def taps(self) -> Iterator[tuple[int, slice, slice]]:
        """Yields (tap, outputs it contributes to, inputs it reads for them) without padding.

        Taps that lie in the padding for every output are left out.
        """
        for tap in range(self.window):
            offset = tap * self.dilation - self.before
            first = max(0, -(offset // self.stride))
            end = min(self.output, -((offset - self.size) // self.stride))
            if first < end:
                read = first * self.stride + offset
                last = (end - 1) * self.stride + offset
                yield tap, slice(first, end), slice(read, last + 1, self.stride)

    def valid_taps(self) -> NDArray[np.int64]:
        """Returns for each output the number of taps that lie on the input."""
        origins = np.arange(self.output, dtype=np.int64) * self.stride - self.before
        first = np.maximum(0, -(origins // self.dilation))
        end = np.minimum(self.window, -((origins - self.size) // self.dilation))
        counts: NDArray[np.int64] = np.maximum(end - first, 0)
        return counts


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
    if min(pads) < 0 or max(pads) > _LARGEST_SPAN:
        raise MalformedModelError(f"padding {padding} is out of range", where=where)
    rows = Axis(image[1], window[0], stride[0], dilation[0], padding.top, padding.bottom)
    columns = Axis(image[2], window[1], stride[1], dilation[1], padding.left, padding.right)
    if max(rows.span, columns.span) > _LARGEST_SPAN:
        raise MalformedModelError(
            f"a dilated window of {rows.span}x{columns.span} is out of range", where=where
        )
    if rows.output < 1 or columns.output < 1:
        raise MalformedModelError(
            f"a window of {rows.span}x{columns.span} does not fit an image of "
            f"{image[1]}x{image[2]} with padding {padding}",
            where=where,
        )
    return rows, columns


def check_positive(what: str, pair: tuple[int, int], where: str) -> None:
    """Raises `MalformedModelError` unless both numbers are positive and of a sane size."""
    if min(pair) < 1 or max(pair) > _LARGEST_STEP:
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
