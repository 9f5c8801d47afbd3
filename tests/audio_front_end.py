"""An audio front end as micro_speech has it, built here: samples to logarithms of channels."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.ops.cast import CastAttributes
from uhost.ops.reshape import ReshapeAttributes
from uhost.ops.signal_energy import SignalEnergyAttributes
from uhost.ops.signal_fft_auto_scale import SignalFftAutoScaleAttributes
from uhost.ops.signal_filter_bank import SignalFilterBankAttributes
from uhost.ops.signal_filter_bank_log import SignalFilterBankLogAttributes
from uhost.ops.signal_filter_bank_spectral_subtraction import (
    SignalFilterBankSpectralSubtractionAttributes,
)
from uhost.ops.signal_filter_bank_square_root import SignalFilterBankSquareRootAttributes
from uhost.ops.signal_framer import SignalFramerAttributes
from uhost.ops.signal_pcan import GAINS, SignalPcanAttributes
from uhost.ops.signal_rfft import SignalRfftAttributes
from uhost.ops.signal_window import SignalWindowAttributes

STEP, SIZE, LENGTH, CHANNELS = 160, 240, 256, 12
BINS = LENGTH // 2 + 1


def front_end() -> Graph:
    """Returns a model that takes 160 samples and gives 12 logarithms, and whether they count."""
    tensors: dict[str, Tensor] = {}
    operators: list[Operator] = []

    def tensor(name: str, shape: tuple[int, ...], dtype: DType, values: Array | None = None) -> str:
        tensors[name] = Tensor(name, shape, dtype, None, values)
        return name

    def step(kind: str, inputs: str, outputs: str, attributes: Attributes) -> None:
        names = tuple(inputs.split()), tuple(outputs.split())
        operators.append(Operator(kind, kind, *names, attributes))

    tensor("samples", (1, STEP), DType.INT16)
    tensor("frames", (1, 1, SIZE), DType.INT16)
    tensor("valid", (), DType.BOOL)
    framer = SignalFramerAttributes(SIZE, STEP, prefill=True)
    tensor("frames_kept", (1, framer.kept), DType.INT16)
    step("signal_framer", "samples frames_kept", "frames valid frames_kept", framer)

    hann = 4096 * np.sin(np.pi * (np.arange(SIZE) + 0.5) / SIZE) ** 2
    tensor("window", (SIZE,), DType.INT16, np.round(hann).astype(np.int16))
    tensor("windowed", (1, 1, SIZE), DType.INT16)
    step("signal_window", "frames window", "windowed", SignalWindowAttributes(12))
    tensor("flat", (SIZE,), DType.INT16)
    step("reshape", "windowed", "flat", ReshapeAttributes())
    tensor("scaled", (SIZE,), DType.INT16)
    tensor("bits", (), DType.INT32)
    step("signal_fft_auto_scale", "flat", "scaled bits", SignalFftAutoScaleAttributes())
    tensor("spectrum", (LENGTH + 2,), DType.INT16)
    step("signal_rfft", "scaled", "spectrum", SignalRfftAttributes(LENGTH))
    tensor("energy", (BINS,), DType.UINT32)
    step("signal_energy", "spectrum", "energy", SignalEnergyAttributes(0, BINS))

    widths = np.arange(1, CHANNELS + 2)
    starts = np.cumsum(widths) - widths
    weights = np.concatenate([4096 - 4096 * np.arange(width) // width for width in widths])
    tables = {
        "weights": weights,
        "unweights": 4096 - weights,
        "first_bins": starts + 3,
        "first_weights": starts,
        "widths": widths,
    }
    for name, values in tables.items():
        tensor(name, values.shape, DType.INT16, values.astype(np.int16))
    tensor("bank", (CHANNELS,), DType.UINT64)
    bank = SignalFilterBankAttributes(CHANNELS)
    step("signal_filter_bank", " ".join(("energy", *tables)), "bank", bank)
    for name in ("roots", "left", "noise", "left_estimate", "gained"):
        tensor(name, (CHANNELS,), DType.UINT32)
    root = SignalFilterBankSquareRootAttributes()
    step("signal_filter_bank_square_root", "bank bits", "roots", root)
    subtraction = SignalFilterBankSpectralSubtractionAttributes(
        CHANNELS, 409, 15975, 983, 15401, 10, 819, clamping=False, spectral_subtraction_bits=14
    )
    kind = "signal_filter_bank_spectral_subtraction"
    step(kind, "roots left_estimate", "left noise left_estimate", subtraction)
    tensor("gains", (GAINS,), DType.INT16, (32000 // (1 + np.arange(GAINS))).astype(np.int16))
    step("signal_pcan", "left noise gains", "gained", SignalPcanAttributes(6))
    tensor("logs", (CHANNELS,), DType.INT16)
    step("signal_filter_bank_log", "gained", "logs", SignalFilterBankLogAttributes(1600, 3))
    tensor("features", (CHANNELS,), DType.INT32)
    step("cast", "logs", "features", CastAttributes())
    states: dict[str, Array] = {
        "frames_kept": np.zeros((1, framer.kept), np.int16),
        "left_estimate": np.zeros(CHANNELS, np.uint32),
    }
    graph = Graph(
        "front_end", tensors, tuple(operators), ("samples",), ("features", "valid"), states
    )
    graph.verify()
    return graph


def chirp(frame: int) -> Array:
    """Returns the samples of a frame of a rising tone, now loud, now soft, in noise."""
    random = np.random.default_rng(frame)
    time = frame * STEP + np.arange(STEP)
    loudness = 9000 * np.sin(time / 3000) ** 2
    tone = loudness * np.sin(time * (0.05 + time / 60000)) + random.normal(0, 40, STEP)
    return np.clip(np.round(tone), -32768, 32767).astype(np.int16)[None]
