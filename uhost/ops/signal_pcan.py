"""Per-channel amplitude normalisation: channels times a gain that falls with their noise.

Inputs: channels and noise, uint32, and the gains, 125 int16: gain of the noise 0, 1 and 2, a
place that is not used, then per power of two of the noise three coefficients of a parabola and
such a place. The product is shifted right by `snr_shift` and compressed: a square below 2^13,
a straight line above.
Source: TFLite Micro, "signal/src/pcan_argc_fixed.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require, require_dtype
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._signal import inconsistent, read_attributes, signal_example, signal_import

GAINS = 125
"""Entries of the table that noise of 32 bits can reach."""


@dataclass(frozen=True, slots=True)
class SignalPcanAttributes(Attributes):
    """Bits by which the product of channel and gain is shifted right."""

    snr_shift: int


def _infer(bound: BoundOperator[SignalPcanAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    channels, noise, gains = (bound.input(index) for index in range(3))
    require_dtype(channels, DType.UINT32)
    require_dtype(noise, DType.UINT32)
    require_dtype(gains, DType.INT16)
    require(0 <= bound.attributes.snr_shift < 64, f"a shift by {bound.attributes.snr_shift}")
    if noise.shape != channels.shape:
        raise inconsistent(bound, f"noise {list(noise.shape)} of channels {list(channels.shape)}")
    if gains.elements < GAINS:
        raise inconsistent(bound, f"{gains.elements} gains, fewer than {GAINS}")
    return [(channels.shape, DType.UINT32)]


def _gain(noise: int, gains: Array) -> int:
    """Returns the gain for a noise, as int16."""
    if noise <= 2:
        return int(gains[noise])
    bits = noise.bit_length()
    constant, slope, curve = (int(one) for one in gains[4 * bits - 6 : 4 * bits - 3])
    fraction = (noise << 11 - bits if bits < 11 else noise >> bits - 11) & 0x3FF
    parabola = ((curve * fraction >> 5) + (slope << 5)) * fraction
    # The sum wraps as int32 does, the result as int16.
    parabola = (parabola + 2**14 + 2**31) % 2**32 - 2**31 >> 15
    return (parabola + constant + 2**15) % 2**16 - 2**15


def _compressed(ratio: int) -> int:
    return ratio * ratio >> 20 if ratio < 2**13 else (ratio >> 6) - 64


def _reference(
    bound: BoundOperator[SignalPcanAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    channels, noise, gains = inputs
    assert channels is not None
    assert noise is not None
    assert gains is not None
    table, shift = gains.reshape(-1), bound.attributes.snr_shift
    made = []
    for channel, level in zip(
        channels.reshape(-1).tolist(), noise.reshape(-1).tolist(), strict=True
    ):
        # A negative gain is 2^32 more.
        product = channel * (_gain(level, table) % 2**32)
        made.append(_compressed((product >> shift) % 2**32))
    return [np.array(made, np.uint32).reshape(channels.shape)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, read_attributes(node, SignalPcanAttributes), 3, 1)


def _examples() -> Iterable[Example]:
    random = np.random.default_rng(8)
    falling = np.zeros(GAINS, np.int64)
    falling[:3] = 32636, 32633, 32630
    for bits in range(2, 33):
        gain = [32767 / (1 + (2.0 ** (bits - 1) * part / 640) ** 0.95) for part in (1, 1.5, 2)]
        slope, curve = 4 * gain[1] - 3 * gain[0] - gain[2], 2 * (gain[0] + gain[2] - 2 * gain[1])
        falling[4 * bits - 6 : 4 * bits - 3] = np.clip([gain[0], slope, curve], -32768, 32767)
    wild = random.integers(-32768, 32767, GAINS, endpoint=True)
    for name, gains, shift in (("uint32", falling, 6), ("uint32_wild", wild, 0)):
        channels, noise, output = (Tensor(n, (60,), DType.UINT32) for n in ("in", "noise", "out"))
        table = Tensor("gains", (GAINS,), DType.INT16, None, gains.astype(np.int16))
        attributes = SignalPcanAttributes(shift)
        inputs = [channels, noise, table]
        yield signal_example(name, "signal_pcan", attributes, inputs, [output])


OPERATOR = OperatorKind(
    name="signal_pcan",
    attributes=SignalPcanAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalPCAN": _import_tflite}},
    examples=_examples,
)
