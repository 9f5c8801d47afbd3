"""Overlapping frames of a stream: `frame_size` samples every `frame_step`.

Input: (…, samples), int16, a multiple of the step. Outputs: (…, frames, frame_size), and one
boolean: every frame is complete. A frame that is not is zeros; TFLite Micro leaves there what
the memory held. With `prefill` the stream begins with zeros and every frame is complete.

States: the samples of each row that the next frame begins with, and the number of steps until
they are all there.
Source: TFLite Micro, "signal/micro/kernels/framer.cc".
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
    check_state,
    inconsistent,
    read_attributes,
    rows_of,
    signal_example,
    signal_import,
    state_tensors,
    with_states,
)


@dataclass(frozen=True, slots=True)
class SignalFramerAttributes(Attributes):
    """Samples of a frame and from one to the next; whether the stream begins with zeros."""

    frame_size: int
    frame_step: int
    prefill: bool

    @property
    def kept(self) -> int:
        """Samples that stay for the next frame.

        Without prefill the stream comes in whole steps, so that a frame may lag behind.
        """
        rest = self.frame_size - self.frame_step
        return rest if self.prefill else -(-rest // self.frame_step) * self.frame_step

    @property
    def wait(self) -> int:
        """Steps until the first frame is complete."""
        return 0 if self.prefill else self.kept // self.frame_step


def _check(attributes: SignalFramerAttributes) -> None:
    size, step = attributes.frame_size, attributes.frame_step
    require(1 <= step <= size < 2**24, f"frames of {size} samples every {step}")


def _infer(bound: BoundOperator[SignalFramerAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    samples, at = bound.input(0), bound.attributes
    require_dtype(samples, DType.INT16)
    require(len(samples.shape) > 0, f"'{samples.name}' is a scalar")
    _check(at)
    frames, rest = divmod(samples.shape[-1], at.frame_step)
    if rest:
        raise inconsistent(
            bound, f"{samples.shape[-1]} samples are no multiple of the step {at.frame_step}"
        )
    shape = (*samples.shape[:-1], frames, at.frame_size)
    made = [(shape, DType.INT16), (bound.outputs[1].shape, DType.BOOL)]
    require(bound.outputs[1].elements == 1, f"'{bound.outputs[1].name}' is no single boolean")
    if at.kept:
        made.append((check_state(bound, 1, (rows_of(samples), at.kept)).shape, DType.INT16))
    if at.wait:
        made.append((check_state(bound, 2, (1,)).shape, DType.INT32))
    return made


def _reference(
    bound: BoundOperator[SignalFramerAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    at, samples = bound.attributes, inputs[0]
    assert samples is not None
    rows, step = rows_of(bound.input(0)), at.frame_step
    kept = inputs[1] if at.kept else None
    stream = samples.reshape(rows, -1)
    if kept is not None:
        stream = np.concatenate([kept, stream], axis=1)
    waits = inputs[2] if at.wait else None
    left = int(waits[0]) if waits is not None else 0
    count = samples.shape[-1] // step
    frames = np.stack([stream[:, n * step :][:, : at.frame_size] for n in range(count)], axis=1)
    frames[:, :left] = 0
    made = [
        frames.reshape(bound.outputs[0].shape),
        np.full(bound.outputs[1].shape, left == 0),
    ]
    if kept is not None:
        made.append(stream[:, count * step :].copy())
    if waits is not None:
        made.append(np.array([max(left - count, 0)], np.int32))
    return made


def _states(rows: int, at: SignalFramerAttributes) -> dict[str, Array]:
    return {
        "kept": np.zeros((rows, at.kept), np.int16),
        "wait": np.full(min(at.wait, 1), at.wait, np.int32),
    }


def _import_tflite(node: SourceNode) -> Imported:
    attributes = read_attributes(node, SignalFramerAttributes)
    imported = signal_import(node, attributes, 1, 2)
    _check(attributes)
    source = imported.inputs[0]
    assert source is not None
    states = _states(rows_of(source), attributes)
    return with_states(imported, state_tensors(node.outputs[0], states))


def _examples() -> Iterable[Example]:
    cases: tuple[tuple[str, tuple[int, ...], SignalFramerAttributes], ...] = (
        ("int16", (8,), SignalFramerAttributes(6, 2, prefill=False)),
        ("int16_prefill", (2, 8), SignalFramerAttributes(6, 4, prefill=True)),
        ("int16_lagging", (1, 3), SignalFramerAttributes(11, 3, prefill=False)),
        ("int16_rows", (2, 2, 4), SignalFramerAttributes(5, 2, prefill=False)),
        ("int16_apart", (9,), SignalFramerAttributes(3, 3, prefill=False)),
    )
    for name, shape, at in cases:
        samples = Tensor("input", shape, DType.INT16)
        frames = (*shape[:-1], shape[-1] // at.frame_step, at.frame_size)
        outputs = Tensor("frames", frames, DType.INT16), Tensor("valid", (), DType.BOOL)
        states = _states(rows_of(samples), at)
        yield signal_example(name, "signal_framer", at, [samples], outputs, states)


OPERATOR = OperatorKind(
    name="signal_framer",
    attributes=SignalFramerAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalFramer": _import_tflite}},
    examples=_examples,
)
