"""The samples of each row, a spectrum of `fft_length` real numbers.

Input: (…, fft_length + 2), real and imaginary parts in turn; output: (…, fft_length), int16,
int32 or float32. Fixed point is divided by `fft_length` as RFFT is, so that both together
divide by it twice; float32 gives the signal back.
Source: TFLite Micro, "signal/micro/kernels/irfft.cc"; the arithmetic is that of
`uhost.numerics.fourier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fourier import inverse_real_transform
from uhost.ops._checks import require_dtype
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._signal import inconsistent, read_attributes, signal_example, signal_import
from uhost.ops.signal_rfft import TYPES, require_length


@dataclass(frozen=True, slots=True)
class SignalIrfftAttributes(Attributes):
    """Real numbers of a transform."""

    fft_length: int


def _infer(bound: BoundOperator[SignalIrfftAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    spectrum, length = bound.input(0), bound.attributes.fft_length
    require_dtype(spectrum, *TYPES)
    require_length(length)
    if spectrum.shape[-1:] != (length + 2,):
        raise inconsistent(
            bound, f"a spectrum {list(spectrum.shape)} for a transform of {length} numbers"
        )
    return [((*spectrum.shape[:-1], length), spectrum.dtype)]


def _reference(
    bound: BoundOperator[SignalIrfftAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    spectrum, length = inputs[0], bound.attributes.fft_length
    assert spectrum is not None
    rows = spectrum.reshape(-1, length // 2 + 1, 2)
    signals = np.stack([inverse_real_transform(row) for row in rows])
    return [signals.reshape(*spectrum.shape[:-1], length)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, read_attributes(node, SignalIrfftAttributes), 1, 1)


def _examples() -> Iterable[Example]:
    def case(name: str, outer: tuple[int, ...], length: int, dtype: DType) -> Example:
        spectrum = Tensor("spectrum", (*outer, length + 2), dtype)
        signal = Tensor("signal", (*outer, length), dtype)
        return signal_example(
            name, "signal_irfft", SignalIrfftAttributes(length), [spectrum], [signal]
        )

    for dtype in TYPES:
        yield case(str(dtype), (), 48, dtype)
        yield case(f"{dtype}_odd", (1, 2), 30, dtype)


OPERATOR = OperatorKind(
    name="signal_irfft",
    attributes=SignalIrfftAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalIrfft": _import_tflite}},
    examples=_examples,
)
