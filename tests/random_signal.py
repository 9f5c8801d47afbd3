"""Random operators of the signal library, of every option that TFLite Micro takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import Example
from uhost.ops._signal import signal_example
from uhost.ops.signal_delay import SignalDelayAttributes
from uhost.ops.signal_energy import SignalEnergyAttributes
from uhost.ops.signal_fft_auto_scale import SignalFftAutoScaleAttributes
from uhost.ops.signal_filter_bank import SignalFilterBankAttributes
from uhost.ops.signal_filter_bank_log import SignalFilterBankLogAttributes
from uhost.ops.signal_filter_bank_spectral_subtraction import (
    SignalFilterBankSpectralSubtractionAttributes,
)
from uhost.ops.signal_filter_bank_square_root import SignalFilterBankSquareRootAttributes
from uhost.ops.signal_framer import SignalFramerAttributes
from uhost.ops.signal_irfft import SignalIrfftAttributes
from uhost.ops.signal_overlap_add import SignalOverlapAddAttributes
from uhost.ops.signal_pcan import GAINS, SignalPcanAttributes
from uhost.ops.signal_rfft import SignalRfftAttributes
from uhost.ops.signal_stacker import SignalStackerAttributes
from uhost.ops.signal_window import SignalWindowAttributes

Random = np.random.Generator
SMOOTH = tuple(3**i * 5**j * 2**k for i in range(4) for j in range(3) for k in range(4))
LENGTHS = tuple(2 * n for n in range(2, 513) if n == 2 ** (n.bit_length() - 1) or n in SMOOTH)


def outer(random: Random) -> tuple[int, ...]:
    return tuple(int(n) for n in random.integers(1, 4, random.integers(0, 3)))


def drawn(random: Random, shape: tuple[int, ...], low: int = -32768, high: int = 32767) -> Array:
    return random.integers(low, high, shape, endpoint=True).astype(np.int16)


def vectors(count: int, **types: DType) -> list[Tensor]:
    return [Tensor(name, (count,), dtype) for name, dtype in types.items()]


def window(random: Random) -> Example:
    shape = (*outer(random), int(random.integers(1, 70)))
    weights = Tensor("window", shape[-1:], DType.INT16, None, drawn(random, shape[-1:]))
    frames, output = (Tensor(name, shape, DType.INT16) for name in ("frames", "output"))
    at = SignalWindowAttributes(int(random.integers(0, 20)))
    return signal_example("window", "signal_window", at, [frames, weights], [output])


def fft_auto_scale(random: Random) -> Example:
    count = int(random.integers(1, 9))
    source, output = vectors(count, input=DType.INT16, output=DType.INT16)
    bits, at = Tensor("bits", (), DType.INT32), SignalFftAutoScaleAttributes()
    return signal_example("scale", "signal_fft_auto_scale", at, [source], [output, bits])


def transform_of(random: Random) -> tuple[int, DType]:
    dtype = random.choice(np.array([DType.INT16, DType.INT32, DType.FLOAT32]))
    return int(random.choice(LENGTHS)), dtype


def rfft(random: Random) -> Example:
    length, dtype = transform_of(random)
    rows = outer(random)
    signal = Tensor("signal", (*rows, int(random.integers(1, length + 1))), dtype)
    spectrum = Tensor("spectrum", (*rows, length + 2), dtype)
    name, at = f"{dtype}_{length}", SignalRfftAttributes(length)
    return signal_example(name, "signal_rfft", at, [signal], [spectrum])


def irfft(random: Random) -> Example:
    length, dtype = transform_of(random)
    rows = outer(random)
    spectrum, signal = (
        Tensor("spectrum", (*rows, length + 2), dtype),
        Tensor("signal", (*rows, length), dtype),
    )
    name, at = f"{dtype}_{length}", SignalIrfftAttributes(length)
    return signal_example(name, "signal_irfft", at, [spectrum], [signal])


def energy(random: Random) -> Example:
    bins = int(random.integers(1, 70))
    start, end = sorted(int(n) for n in random.integers(0, bins + 1, 2))
    spectrum, made = (
        Tensor("spectrum", (2 * bins,), DType.INT16),
        Tensor("energy", (bins,), DType.UINT32),
    )
    at = SignalEnergyAttributes(start, end)
    return signal_example("energy", "signal_energy", at, [spectrum], [made])


def filter_bank(random: Random) -> Example:
    channels, bins = int(random.integers(1, 12)), int(random.integers(1, 60))
    widths = random.integers(0, min(bins, 9) + 1, channels + 1)
    first = np.array([random.integers(0, bins - width + 1) for width in widths])
    count = int(widths.sum()) + 1
    tables = {
        "weights": drawn(random, (count,)),
        "unweights": drawn(random, (count,)),
        "first_bins": first.astype(np.int16),
        "first_weights": np.cumsum([0, *widths[:-1]]).astype(np.int16),
        "widths": widths.astype(np.int16),
    }
    energies = Tensor("energies", (bins,), DType.UINT32)
    constants = [Tensor(n, v.shape, DType.INT16, None, v) for n, v in tables.items()]
    output = Tensor("output", (channels,), DType.UINT64)
    at = SignalFilterBankAttributes(channels)
    return signal_example("bank", "signal_filter_bank", at, [energies, *constants], [output])


def square_root(random: Random) -> Example:
    (numbers, output), bits = (
        vectors(int(random.integers(1, 50)), numbers=DType.UINT64, output=DType.UINT32),
        Tensor("bits", (), DType.INT32),
    )
    at = SignalFilterBankSquareRootAttributes()
    kind = "signal_filter_bank_square_root"
    return signal_example("root", kind, at, [numbers, bits], [output])


def spectral_subtraction(random: Random) -> Example:
    count = int(random.integers(1, 45))
    most = 2 ** int(random.integers(8, 31))
    a, b, c, d, least = (int(share) for share in random.integers(0, most, 5))
    bits, wide, clamping = (int(n) for n in random.integers(0, (13, 20, 2)))
    at = SignalFilterBankSpectralSubtractionAttributes(
        count, a, b, c, d, bits, least, bool(clamping), wide
    )
    source, left, noise = vectors(
        count, channels=DType.UINT32, left=DType.UINT32, noise=DType.UINT32
    )
    states = {"estimate": np.zeros(count, np.uint32)}
    kind = "signal_filter_bank_spectral_subtraction"
    return signal_example("noise", kind, at, [source], [left, noise], states)


def pcan(random: Random) -> Example:
    names = {"channels": DType.UINT32, "noise": DType.UINT32, "output": DType.UINT32}
    channels, noise, output = vectors(int(random.integers(1, 50)), **names)
    gains = Tensor("gains", (GAINS,), DType.INT16, None, drawn(random, (GAINS,)))
    at = SignalPcanAttributes(int(random.integers(0, 32)))
    return signal_example("pcan", "signal_pcan", at, [channels, noise, gains], [output])


def log(random: Random) -> Example:
    names = {"channels": DType.UINT32, "output": DType.INT16}
    channels, output = vectors(int(random.integers(1, 300)), **names)
    scale = int(random.integers(-(2 ** int(random.integers(1, 31))), 2**16))
    at = SignalFilterBankLogAttributes(scale, int(random.integers(0, 32)))
    return signal_example("log", "signal_filter_bank_log", at, [channels], [output])


def delay(random: Random) -> Example:
    shape = (*outer(random), int(random.integers(1, 20)))
    samples, output = (Tensor(name, shape, DType.INT16) for name in ("input", "output"))
    at = SignalDelayAttributes(int(random.integers(0, 40)))
    rows = int(np.prod(shape[:-1]))
    states = {"delayed": np.zeros((rows, at.delay_length), np.int16)}
    return signal_example("delay", "signal_delay", at, [samples], [output], states)


def framer(random: Random) -> Example:
    step, frames, rows = int(random.integers(1, 9)), int(random.integers(1, 5)), outer(random)
    size, prefill = int(random.integers(step, 4 * step + 1)), bool(random.integers(0, 2))
    at = SignalFramerAttributes(size, step, prefill)
    samples = Tensor("input", (*rows, frames * step), DType.INT16)
    outputs = (
        Tensor("frames", (*rows, frames, size), DType.INT16),
        Tensor("valid", (), DType.BOOL),
    )
    states: dict[str, Array] = {
        "kept": np.zeros((int(np.prod(rows)), at.kept), np.int16),
        "wait": np.full(min(at.wait, 1), at.wait, np.int32),
    }
    return signal_example("framer", "signal_framer", at, [samples], outputs, states)


def overlap_add(random: Random) -> Example:
    step, frames, rows = int(random.integers(1, 9)), int(random.integers(1, 5)), outer(random)
    size = int(random.integers(step, 4 * step + 1))
    dtype = random.choice(np.array([DType.INT16, DType.FLOAT32]))
    source = Tensor("frames", (*rows, frames, size), dtype)
    output = Tensor("output", (*rows, frames * step), dtype)
    states = {"sums": np.zeros((int(np.prod(rows)), size - step), dtype.numpy)}
    at = SignalOverlapAddAttributes(step)
    return signal_example("overlap", "signal_overlap_add", at, [source], [output], states)


def stacker(random: Random) -> Example:
    channels, left, right = (int(n) for n in random.integers((1, 0, 0), (9, 5, 5)))
    step = int(random.integers(1, left + right + 2))
    at = SignalStackerAttributes(channels, left, right, step)
    frame = Tensor("frame", (channels,), DType.INT16)
    stack = Tensor("stack", (channels * (left + right + 1),), DType.INT16)
    states: dict[str, Array] = {
        "history": np.zeros((left + right, channels), np.int16),
        "wait": np.zeros(1, np.int32),
    }
    outputs = stack, Tensor("valid", (), DType.BOOL)
    return signal_example("stacker", "signal_stacker", at, [frame], outputs, states)


DRAWS: dict[str, Callable[[Random], Example]] = {
    "signal_window": window,
    "signal_fft_auto_scale": fft_auto_scale,
    "signal_rfft": rfft,
    "signal_irfft": irfft,
    "signal_energy": energy,
    "signal_filter_bank": filter_bank,
    "signal_filter_bank_square_root": square_root,
    "signal_filter_bank_spectral_subtraction": spectral_subtraction,
    "signal_pcan": pcan,
    "signal_filter_bank_log": log,
    "signal_delay": delay,
    "signal_framer": framer,
    "signal_overlap_add": overlap_add,
    "signal_stacker": stacker,
}
