"""Each row of samples, `delay_length` samples later.

Input and output: (…, samples), int16; a state keeps the samples that are still to come, zeros
at first.
Source: TFLite Micro, "signal/micro/kernels/delay.cc".
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
    read_attributes,
    rows_of,
    signal_example,
    signal_import,
    state_tensors,
    with_states,
)

DELAY_LIMIT = 2**24


@dataclass(frozen=True, slots=True)
class SignalDelayAttributes(Attributes):
    """Samples between input and output."""

    delay_length: int


def _infer(bound: BoundOperator[SignalDelayAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    samples, delay = bound.input(0), bound.attributes.delay_length
    require_dtype(samples, DType.INT16)
    require(len(samples.shape) > 0, f"'{samples.name}' is a scalar")
    require(0 <= delay < DELAY_LIMIT, f"a delay of {delay} samples")
    if delay == 0:
        return [(samples.shape, DType.INT16)]
    state = check_state(bound, 1, (rows_of(samples), delay))
    return [(samples.shape, DType.INT16), (state.shape, DType.INT16)]


def _reference(
    bound: BoundOperator[SignalDelayAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    samples = inputs[0]
    assert samples is not None
    if bound.attributes.delay_length == 0:
        return [samples.copy()]
    state = inputs[1]
    assert state is not None
    length = samples.shape[-1]
    line = np.concatenate([state, samples.reshape(-1, length)], axis=1)
    return [line[:, :length].reshape(samples.shape), line[:, length:]]


def _states(samples: Tensor, attributes: SignalDelayAttributes) -> dict[str, Array]:
    return {"delayed": np.zeros((rows_of(samples), attributes.delay_length), np.int16)}


def _import_tflite(node: SourceNode) -> Imported:
    attributes = read_attributes(node, SignalDelayAttributes)
    imported = signal_import(node, attributes, 1, 1)
    require(0 <= attributes.delay_length < DELAY_LIMIT, "the delay is too long")
    states = _states(node.outputs[0], attributes)
    return with_states(imported, state_tensors(node.outputs[0], states))


def _examples() -> Iterable[Example]:
    cases: tuple[tuple[str, tuple[int, ...], int], ...] = (
        ("int16", (2, 6), 4),
        ("int16_long", (5,), 13),
        ("int16_as_long", (2, 2, 3), 3),
        ("int16_none", (7,), 0),
    )
    for name, shape, delay in cases:
        samples, output = (Tensor(n, shape, DType.INT16) for n in ("input", "output"))
        attributes = SignalDelayAttributes(delay)
        states = _states(output, attributes)
        yield signal_example(name, "signal_delay", attributes, [samples], [output], states)


OPERATOR = OperatorKind(
    name="signal_delay",
    attributes=SignalDelayAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalDelay": _import_tflite}},
    examples=_examples,
)
