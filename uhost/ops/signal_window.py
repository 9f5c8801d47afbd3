"""Frames of samples times a window, shifted right.

Inputs: frames (…, samples) and the window (samples), both int16. The product is shifted by
`shift` bits, rounding down, and saturated.
Source: TFLite Micro, "signal/src/window.cc".
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
from uhost.ops._signal import (
    inconsistent,
    read_attributes,
    saturate_int16,
    signal_example,
    signal_import,
)


@dataclass(frozen=True, slots=True)
class SignalWindowAttributes(Attributes):
    """Bits by which each product is shifted right."""

    shift: int


def _infer(
    bound: BoundOperator[SignalWindowAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    frames, window = bound.input(0), bound.input(1)
    require_dtype(frames, DType.INT16)
    require_dtype(window, DType.INT16)
    require(0 <= bound.attributes.shift < 32, f"the shift is {bound.attributes.shift}")
    if window.shape != frames.shape[-1:]:
        raise inconsistent(bound, f"a window {list(window.shape)} for frames {list(frames.shape)}")
    return [(frames.shape, DType.INT16)]


def _reference(
    bound: BoundOperator[SignalWindowAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    frames, window = inputs
    assert frames is not None
    assert window is not None
    return [saturate_int16(frames.astype(np.int64) * window >> bound.attributes.shift)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, read_attributes(node, SignalWindowAttributes), 2, 1)


def _examples() -> Iterable[Example]:
    random = np.random.default_rng(3)

    def case(name: str, shape: tuple[int, ...], shift: int, weights: Array | None) -> Example:
        frames = Tensor("frames", shape, DType.INT16)
        window = Tensor("window", shape[-1:], DType.INT16, None, weights)
        output = Tensor("output", shape, DType.INT16)
        attributes = SignalWindowAttributes(shift)
        return signal_example(name, "signal_window", attributes, [frames, window], [output])

    samples = np.arange(60)
    hann = np.round(4096 * np.sin(np.pi * (samples + 0.5) / 60) ** 2).astype(np.int16)
    yield case("int16", (1, 60), 12, hann)
    drawn = random.integers(-32768, 32767, 17, np.int16, endpoint=True)
    yield case("int16_saturating", (2, 3, 17), 13, drawn)
    yield case("int16_shift_0", (9,), 0, np.arange(-4, 5).astype(np.int16))
    yield case("int16_window_made", (4, 5), 15, None)


OPERATOR = OperatorKind(
    name="signal_window",
    attributes=SignalWindowAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalWindow": _import_tflite}},
    examples=_examples,
)
