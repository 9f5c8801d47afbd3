"""The natural logarithm of each channel, scaled, in whole numbers.

Input: uint32; output: int16, 0 for what is at most 1 after the shift left by
`input_correction_bits` (modulo 2^32), and at most 32767. The binary logarithm is a straight
line per power of two plus a correction from a table of 128 segments.
Source: TFLite Micro, "signal/src/filter_bank_log.cc" and "signal/src/log.cc".
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
from uhost.ops._signal import read_attributes, signal_example, signal_import

NATURAL = 45426
"""The natural logarithm of 2 in units of 2^-16."""


@dataclass(frozen=True, slots=True)
class SignalFilterBankLogAttributes(Attributes):
    """The factor of the logarithm, and the bits by which the input is shifted left before."""

    output_scale: int
    input_correction_bits: int


def log_corrections() -> Array:
    """Returns log2(1 + x) - x for x = 0, 1/128, … 1 and once more, in units of 2^-16, as uint16."""
    places = np.minimum(np.arange(130), 128) / 128
    return np.round(65536 * (np.log2(1 + places) - places)).astype(np.uint16)


def _infer(
    bound: BoundOperator[SignalFilterBankLogAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    channels, at = bound.input(0), bound.attributes
    require_dtype(channels, DType.UINT32)
    require(0 <= at.input_correction_bits < 32, f"a shift by {at.input_correction_bits} bits")
    require(abs(at.output_scale) < 2**31, f"the factor is {at.output_scale}")
    return [(channels.shape, DType.INT16)]


def _reference(
    bound: BoundOperator[SignalFilterBankLogAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    channels, at = inputs[0], bound.attributes
    assert channels is not None
    numbers = (channels << np.uint32(at.input_correction_bits)).astype(np.int64)
    table = log_corrections().astype(np.int64)
    # Exact: a double has more bits than the numbers.
    exponent = np.frexp(np.maximum(numbers, 1).astype(np.float64))[1].astype(np.int64) - 1
    fraction = (numbers - (1 << exponent)) << 16 >> exponent
    segment = fraction >> 9
    slope = table[segment + 1] - table[segment]
    fraction += table[segment] + (slope * (fraction & 511) >> 16)
    natural = NATURAL * ((exponent << 16) + fraction) + 2**15 >> 16
    scaled = (at.output_scale * natural + 2**15) % 2**32 >> 16
    return [np.where(numbers > 1, np.minimum(scaled, 32767), 0).astype(np.int16)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, read_attributes(node, SignalFilterBankLogAttributes), 1, 1)


def _examples() -> Iterable[Example]:
    cases = (
        ("uint32", 64, 3),
        ("uint32_fine", 65535, 0),
        ("uint32_wrapping", 2**31 - 1, 13),
        ("uint32_negative", -1600, 1),
    )
    for name, scale, bits in cases:
        channels = Tensor("channels", (40,), DType.UINT32)
        output = Tensor("output", (40,), DType.INT16)
        attributes = SignalFilterBankLogAttributes(scale, bits)
        yield signal_example(name, "signal_filter_bank_log", attributes, [channels], [output])


OPERATOR = OperatorKind(
    name="signal_filter_bank_log",
    attributes=SignalFilterBankLogAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalFilterBankLog": _import_tflite}},
    examples=_examples,
)
