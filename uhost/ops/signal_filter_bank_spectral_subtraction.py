"""Channels less an estimate of their noise, which follows them slowly.

Inputs: channels (num_channels), uint32, and the state, the estimate. Outputs: what is left of
each channel, at least the share `min_signal_remaining` of it, and the estimate. Channels with
an odd index have smoothing of their own. Shares count in units of 2^-spectral_subtraction_bits.
The estimate is kept with `smoothing_bits` more bits than the channels; all wraps at 32 bits.
Source: TFLite Micro, "signal/src/filter_bank_spectral_subtraction.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require, require_dtype
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._signal import (
    check_state,
    inconsistent,
    read_attributes,
    signal_example,
    signal_import,
    state_tensors,
    with_states,
)


@dataclass(frozen=True, slots=True)
class SignalFilterBankSpectralSubtractionAttributes(Attributes):
    """The shares of channel and estimate in the next estimate, per parity of the index.

    `clamping`: an estimate above the channel comes down to it.
    """

    num_channels: int
    smoothing: int
    one_minus_smoothing: int
    alternate_smoothing: int
    alternate_one_minus_smoothing: int
    smoothing_bits: int
    min_signal_remaining: int
    clamping: bool
    spectral_subtraction_bits: int


def _infer(
    bound: BoundOperator[SignalFilterBankSpectralSubtractionAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    channels, at = bound.input(0), bound.attributes
    require_dtype(channels, DType.UINT32)
    shares = (
        at.smoothing,
        at.one_minus_smoothing,
        at.alternate_smoothing,
        at.alternate_one_minus_smoothing,
        at.min_signal_remaining,
    )
    require(all(0 <= share < 2**31 for share in shares), f"a share of {shares} is negative")
    require(0 <= at.smoothing_bits < 32, f"smoothing by {at.smoothing_bits} bits")
    require(
        0 <= at.spectral_subtraction_bits < 64, f"shares of {at.spectral_subtraction_bits} bits"
    )
    if channels.shape != (at.num_channels,):
        raise inconsistent(bound, f"{at.num_channels} channels, an input {list(channels.shape)}")
    check_state(bound, 1, channels.shape)
    return [(channels.shape, DType.UINT32)] * 3


def _reference(
    bound: BoundOperator[SignalFilterBankSpectralSubtractionAttributes],
    inputs: Sequence[Array | None],
) -> Sequence[Array]:
    channels, estimate = inputs
    assert channels is not None
    assert estimate is not None
    at, odd = bound.attributes, np.arange(channels.size) % 2 == 1
    new = np.where(odd, at.alternate_smoothing, at.smoothing).astype(np.uint64)
    kept = np.where(odd, at.alternate_one_minus_smoothing, at.one_minus_smoothing).astype(np.uint64)
    bits = np.uint64(at.spectral_subtraction_bits)
    signal = channels << np.uint32(at.smoothing_bits)
    noise = ((signal.astype(np.uint64) * new + estimate.astype(np.uint64) * kept) >> bits).astype(
        np.uint32
    )
    taken = np.minimum(noise, signal)
    if at.clamping:
        noise = taken
    least = (channels.astype(np.uint64) * np.uint64(at.min_signal_remaining) >> bits).astype(
        np.uint32
    )
    left = np.maximum((signal - taken) >> np.uint32(at.smoothing_bits), least)
    return [left, noise, noise.copy()]


def _import_tflite(node: SourceNode) -> Imported:
    attributes = read_attributes(node, SignalFilterBankSpectralSubtractionAttributes)
    imported = signal_import(node, attributes, 1, 2)
    initial = np.zeros(node.outputs[0].shape, np.uint32)
    return with_states(imported, state_tensors(node.outputs[0], {"estimate": initial}))


def _examples() -> Iterable[Example]:
    usual = SignalFilterBankSpectralSubtractionAttributes(
        40, 409, 15975, 983, 15401, 10, 819, clamping=False, spectral_subtraction_bits=14
    )
    cases = {
        "uint32": usual,
        "uint32_clamping": replace(usual, num_channels=7, clamping=True, smoothing=4000),
        "uint32_exact": replace(usual, num_channels=3, smoothing_bits=0),
        "uint32_coarse": replace(usual, num_channels=5, spectral_subtraction_bits=20),
    }
    for name, attributes in cases.items():
        shape = (attributes.num_channels,)
        channels, left, noise = (Tensor(n, shape, DType.UINT32) for n in ("in", "left", "noise"))
        yield signal_example(
            name,
            "signal_filter_bank_spectral_subtraction",
            attributes,
            [channels],
            [left, noise],
            {"estimate": np.zeros(shape, np.uint32)},
        )


OPERATOR = OperatorKind(
    name="signal_filter_bank_spectral_subtraction",
    attributes=SignalFilterBankSpectralSubtractionAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalFilterBankSpectralSubtraction": _import_tflite}},
    examples=_examples,
)
