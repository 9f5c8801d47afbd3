"""Fourier transforms of real signals in fixed point and in float, a mixed radix at a time.

Of kissfft's kind. A transform of n real numbers is one of n/2 complex numbers and a last step
that takes it apart. The complex one goes in stages, each of one radix, fours before twos
before threes and so on; the last factor is done first. In fixed point every product is rounded
to nearest, half up, and a stage of radix p first multiplies by the whole part of 1/p of the
largest number, so that nothing overflows; what does wraps. Source: kissfft 130,
"_kiss_fft_guts.h", "kiss_fft.c", "kiss_fftr.c".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array


@dataclass(frozen=True, slots=True)
class Stage:
    """`blocks` times `span` butterflies of `radix` inputs, `span` apart."""

    radix: int
    span: int
    blocks: int


RADICES = (4, 2, 3, 5)


def factors(count: int) -> tuple[int, ...]:
    """Returns the radices of a transform of `count` complex numbers, the last done first.

    Raises `ValueError` where the count has another prime factor than 2, 3 and 5.
    """
    found = []
    for radix in RADICES:
        while count % radix == 0:
            count //= radix
            found.append(radix)
    if count > 1:
        raise ValueError(f"a factor of {count}")
    return tuple(found)


def stages(count: int) -> tuple[Stage, ...]:
    """Returns the stages of a transform of `count` complex numbers, in the order of execution."""
    made, blocks = [], 1
    for radix in factors(count):
        made.append(Stage(radix, count // (blocks * radix), blocks))
        blocks *= radix
    return tuple(reversed(made))


def input_order(count: int) -> NDArray[np.int64]:
    """Returns for each place of the first stage which input comes to it."""
    order = np.zeros(1, np.int64)
    for stage in stages(count):
        order = (order * stage.radix + np.arange(stage.radix)[:, None]).reshape(-1)
    return order


def _rotations(angles: Array, dtype: np.dtype[Any]) -> Array:
    """Returns (cosine, sine) per angle, in fixed point rounded half up."""
    exact = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    if dtype.kind == "f":
        return exact.astype(dtype)
    return np.floor(0.5 + np.iinfo(dtype).max * exact).astype(dtype)


def twiddles(count: int, dtype: np.dtype[Any], *, inverse: bool) -> Array:
    """Returns (count, 2): the roots of unity of a complex transform."""
    angles = -2 * np.pi * np.arange(count) / count
    return _rotations(-angles if inverse else angles, dtype)


def half_twiddles(count: int, dtype: np.dtype[Any], *, inverse: bool) -> Array:
    """Returns (count // 2, 2): the rotations between `count` complex numbers and real ones."""
    angles = -np.pi * ((np.arange(count // 2) + 1) / count + 0.5)
    return _rotations(-angles if inverse else angles, dtype)


def divisor(radix: int, dtype: np.dtype[Any]) -> int:
    """Returns the fixed-point factor by which a stage divides."""
    return int(np.iinfo(dtype).max // radix)


@dataclass(frozen=True, slots=True)
class _Arithmetic:
    """The operations on arrays of (…, 2) of one type; fixed point is held in int64."""

    dtype: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    def stored(self, values: Array) -> Array:
        """Returns what memory holds of the values: wrapped."""
        return values if self.is_float else values.astype(self.dtype).astype(np.int64)

    def _rounded(self, products: Array) -> Array:
        bits = 8 * self.dtype.itemsize - 1
        return self.stored(products + (1 << bits - 1) >> bits)

    def scaled(self, values: Array, factor: Array | int) -> Array:
        """Returns the values times a real factor, rounded."""
        return values * factor if self.is_float else self._rounded(values * factor)

    def divided(self, values: Array, radix: int) -> Array:
        return values if self.is_float else self.scaled(values, divisor(radix, self.dtype))

    def product(self, a: Array, b: Array) -> Array:
        """Returns the complex product, rounded once per part."""
        real = a[..., 0] * b[..., 0] - a[..., 1] * b[..., 1]
        imaginary = a[..., 0] * b[..., 1] + a[..., 1] * b[..., 0]
        both = np.stack([real, imaginary], axis=-1)
        return both if self.is_float else self._rounded(both)

    def half(self, values: Array) -> Array:
        return values * np.float32(0.5) if self.is_float else values >> 1


def _turned(values: Array) -> Array:
    """Returns the values times -i."""
    return np.stack([values[..., 1], -values[..., 0]], axis=-1)


def _two(x: list[Array], w: Array, n: _Arithmetic, *, inverse: bool) -> list[Array]:
    return [n.stored(x[0] + x[1]), n.stored(x[0] - x[1])]


def _three(x: list[Array], w: Array, n: _Arithmetic, *, inverse: bool) -> list[Array]:
    total, difference = n.stored(x[1] + x[2]), n.stored(x[1] - x[2])
    middle = n.stored(x[0] - n.half(total))
    side = _turned(n.scaled(difference, w[len(w) // 3, 1]))
    return [n.stored(x[0] + total), n.stored(middle - side), n.stored(middle + side)]


def _four(x: list[Array], w: Array, n: _Arithmetic, *, inverse: bool) -> list[Array]:
    even, odd = n.stored(x[0] + x[2]), n.stored(x[1] + x[3])
    minus, side = n.stored(x[0] - x[2]), n.stored(x[1] - x[3])
    turned = -_turned(side) if inverse else _turned(side)
    return [
        n.stored(even + odd),
        n.stored(minus + turned),
        n.stored(even - odd),
        n.stored(minus - turned),
    ]


def _five(x: list[Array], w: Array, n: _Arithmetic, *, inverse: bool) -> list[Array]:
    first, second = w[len(w) // 5], w[2 * (len(w) // 5)]
    outer, inner = n.stored(x[1] + x[4]), n.stored(x[2] + x[3])
    outer_side, inner_side = n.stored(x[1] - x[4]), n.stored(x[2] - x[3])
    near = n.stored(x[0] + n.scaled(outer, first[0]) + n.scaled(inner, second[0]))
    near_side = n.stored(
        _turned(n.scaled(outer_side, first[1])) + _turned(n.scaled(inner_side, second[1]))
    )
    far = n.stored(x[0] + n.scaled(outer, second[0]) + n.scaled(inner, first[0]))
    far_side = n.stored(
        _turned(n.scaled(inner_side, first[1])) - _turned(n.scaled(outer_side, second[1]))
    )
    return [
        n.stored(x[0] + outer + inner),
        n.stored(near - near_side),
        n.stored(far + far_side),
        n.stored(far - far_side),
        n.stored(near + near_side),
    ]


_BUTTERFLIES: dict[int, Callable[..., list[Array]]] = {2: _two, 3: _three, 4: _four, 5: _five}


def _stage(x: Array, stage: Stage, w: Array, n: _Arithmetic, *, inverse: bool) -> Array:
    """Returns what a stage makes of `x`, (count, 2); `w` are the roots of unity."""
    parts = n.divided(x, stage.radix).reshape(stage.blocks, stage.radix, stage.span, 2)
    inputs = [parts[:, index] for index in range(stage.radix)]
    places = stage.blocks * np.arange(stage.span)
    for index in range(1, stage.radix):
        inputs[index] = n.product(inputs[index], w[places * index])
    made = _BUTTERFLIES[stage.radix](inputs, w, n, inverse=inverse)
    return np.stack(made, axis=1).reshape(-1, 2)


def _transform(x: Array, n: _Arithmetic, *, inverse: bool) -> Array:
    """Returns the complex transform of (count, 2)."""
    w = _held(twiddles(len(x), n.dtype, inverse=inverse))
    x = x[input_order(len(x))]
    for stage in stages(len(x)):
        x = _stage(x, stage, w, n, inverse=inverse)
    return x


def _held(values: Array) -> Array:
    return values if values.dtype.kind == "f" else values.astype(np.int64)


_CONJUGATE = np.array([1, -1], np.int8)


def real_transform(signal: Array) -> Array:
    """Returns (n / 2 + 1, 2): the spectrum of n real numbers, int16, int32 or float32.

    n is even and at least 4. In fixed point the result is divided by n.
    """
    n = _Arithmetic(signal.dtype)
    count = len(signal) // 2
    x = n.divided(_transform(_held(signal).reshape(count, 2), n, inverse=False), 2)
    spectrum = np.zeros((count + 1, 2), x.dtype)
    spectrum[0, 0] = x[0, 0] + x[0, 1]
    spectrum[count, 0] = x[0, 0] - x[0, 1]
    places = np.arange(1, count // 2 + 1)
    here, there = x[places], x[count - places] * _CONJUGATE
    w = _held(half_twiddles(count, signal.dtype, inverse=False))
    total, difference = n.stored(here + there), n.stored(here - there)
    turned = n.product(difference, w)
    # An int16 sum is not cut before it is halved, an int32 sum is.
    whole = n.stored if signal.dtype == np.int32 else lambda values: values
    spectrum[places] = n.half(whole(total + turned))
    spectrum[count - places] = n.half(whole((total - turned) * _CONJUGATE))
    return n.stored(spectrum).astype(signal.dtype)


def inverse_real_transform(spectrum: Array) -> Array:
    """Returns the n real numbers of a spectrum (n / 2 + 1, 2), int16, int32 or float32.

    float32 is divided by n, fixed point by the stages alone.
    """
    n = _Arithmetic(spectrum.dtype)
    held, count = _held(spectrum), len(spectrum) - 1
    x = np.zeros((count, 2), held.dtype)
    ends = [held[0, 0] + held[count, 0], held[0, 0] - held[count, 0]]
    x[0] = n.divided(n.stored(np.stack(ends)), 2)
    places = np.arange(1, count // 2 + 1)
    here = n.divided(held[places], 2)
    there = n.divided(n.stored(held[count - places] * _CONJUGATE), 2)
    total, difference = n.stored(here + there), n.stored(here - there)
    w = _held(half_twiddles(count, spectrum.dtype, inverse=True))
    turned = n.product(difference, w)
    x[places] = n.stored(total + turned)
    x[count - places] = n.stored(n.stored(total - turned) * _CONJUGATE)
    signal = _transform(x, n, inverse=True).reshape(-1)
    if n.is_float:
        signal = signal / np.float32(len(signal))
    return signal.astype(spectrum.dtype)
