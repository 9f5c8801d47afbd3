"""The spectrum of each row of samples, which zeros make `fft_length` long.

Input: (…, samples); output: (…, fft_length + 2), real and imaginary parts in turn, int16, int32
or float32. In fixed point the spectrum is divided by `fft_length`.
Source: TFLite Micro, "signal/micro/kernels/rfft.cc"; the arithmetic is that of
`uhost.numerics.fourier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fourier import factors, real_transform
from uhost.ops._checks import require, require_dtype
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, UnsupportedNodeError
from uhost.ops._signal import read_attributes, rows_of, signal_example, signal_import

TYPES = (DType.INT16, DType.INT32, DType.FLOAT32)
LONGEST = 2**16


@dataclass(frozen=True, slots=True)
class SignalRfftAttributes(Attributes):
    """Real numbers of a transform."""

    fft_length: int


def require_length(length: int) -> None:
    """Requires a length that TFLite Micro has: even, of the factors 2, 3 and 5."""
    reason = f"a transform of {length} numbers"
    require(4 <= length <= LONGEST and length % 2 == 0, reason)
    try:
        factors(length // 2)
    except ValueError as error:
        raise UnsupportedNodeError(f"{reason}: {error}") from error


def _infer(bound: BoundOperator[SignalRfftAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    signal, length = bound.input(0), bound.attributes.fft_length
    require_dtype(signal, *TYPES)
    require(len(signal.shape) > 0, f"'{signal.name}' is a scalar")
    require_length(length)
    require(signal.shape[-1] <= length, f"{signal.shape[-1]} samples for a transform of {length}")
    return [((*signal.shape[:-1], length + 2), signal.dtype)]


def _reference(
    bound: BoundOperator[SignalRfftAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    signal, length = inputs[0], bound.attributes.fft_length
    assert signal is not None
    rows = np.zeros((rows_of(bound.input(0)), length), signal.dtype)
    rows[:, : signal.shape[-1]] = signal.reshape(len(rows), -1)
    spectra = [real_transform(row).reshape(-1) for row in rows]
    return [np.stack(spectra).reshape(*signal.shape[:-1], length + 2)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, read_attributes(node, SignalRfftAttributes), 1, 1)


def _examples() -> Iterable[Example]:
    def case(name: str, shape: tuple[int, ...], length: int, dtype: DType) -> Example:
        signal = Tensor("signal", shape, dtype)
        spectrum = Tensor("spectrum", (*shape[:-1], length + 2), dtype)
        return signal_example(
            name, "signal_rfft", SignalRfftAttributes(length), [signal], [spectrum]
        )

    for dtype in TYPES:
        yield case(str(dtype), (30,), 48, dtype)
        yield case(f"{dtype}_odd", (1, 2, 30), 30, dtype)
    yield case("int16_long", (480,), 512, DType.INT16)


OPERATOR = OperatorKind(
    name="signal_rfft",
    attributes=SignalRfftAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalRfft": _import_tflite}},
    examples=_examples,
)
