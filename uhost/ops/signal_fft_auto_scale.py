"""A frame shifted left so that its largest magnitude comes to bit 14, and by how many bits.

A magnitude of 32768 wraps to -32768 as int16, as in TFLite Micro: the maximum is then that
of the samples behind it, and products wrap.
Source: TFLite Micro, "signal/src/fft_auto_scale.cc" and "signal/src/max_abs.cc".
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
from uhost.ops._signal import signal_example, signal_import


@dataclass(frozen=True, slots=True)
class SignalFftAutoScaleAttributes(Attributes):
    """Nothing to choose."""


def _infer(
    bound: BoundOperator[SignalFftAutoScaleAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    source = bound.input(0)
    require_dtype(source, DType.INT16)
    require(len(source.shape) == 1, f"'{source.name}' has the rank {len(source.shape)}, not 1")
    return [(source.shape, DType.INT16), ((), DType.INT32)]


def largest_magnitude(samples: Array) -> int:
    """Returns the largest magnitude, or -32768 if the samples end in -32768."""
    last = np.flatnonzero(samples == -32768)
    if not last.size:
        return int(np.abs(samples).max(initial=0))
    behind = samples[last[-1] + 1 :]
    return int(np.abs(behind).max()) if behind.size else -32768


def _reference(
    bound: BoundOperator[SignalFftAutoScaleAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    samples = inputs[0]
    assert samples is not None
    largest = largest_magnitude(samples)
    bits = max(15 - largest.bit_length(), 0) if largest > 0 else 0
    scaled = samples.astype(np.int64) << bits
    return [scaled.astype(np.int16), np.array(bits, np.int32)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, SignalFftAutoScaleAttributes(), 1, 2)


def _examples() -> Iterable[Example]:
    for name, size in (("int16", 64), ("int16_one", 1), ("int16_three", 3)):
        source, output = (Tensor(n, (size,), DType.INT16) for n in ("input", "output"))
        bits = Tensor("bits", (), DType.INT32)
        attributes = SignalFftAutoScaleAttributes()
        yield signal_example(name, "signal_fft_auto_scale", attributes, [source], [output, bits])


OPERATOR = OperatorKind(
    name="signal_fft_auto_scale",
    attributes=SignalFftAutoScaleAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalFftAutoScale": _import_tflite}},
    examples=_examples,
)
