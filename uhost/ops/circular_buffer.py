"""The last `slots` samples of a stream, oldest first: each run adds one.

Input: (batch 1, 1, …), int8; output: (1, slots, …). A state keeps all samples but the oldest;
at first they are the zero point. Every run goes on behind the operator: TFLite Micro can end a
run here until `cycles_max` samples have come, which is refused unless that is one.
Source: TFLite Micro, "circular_buffer_common.cc" and "circular_buffer.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require, require_dtype
from uhost.ops._examples import quantized
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._signal import (
    check_state,
    inconsistent,
    signal_example,
    signal_import,
    signal_options,
    state_tensors,
    with_states,
)
from uhost.ops._tflite import malformed

_EVERY_RUN = (5, 13, 25)
"""Slots for which TFLite Micro goes on at every run where the file does not say it."""


@dataclass(frozen=True, slots=True)
class CircularBufferAttributes(Attributes):
    """After how many samples a run goes on behind the operator: one."""

    cycles_max: int = 1


def _infer(
    bound: BoundOperator[CircularBufferAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    sample, output = bound.input(0), bound.outputs[0]
    require_dtype(sample, DType.INT8)
    shape = sample.shape
    require(len(shape) == 4 and shape[:2] == (1, 1), f"'{sample.name}' is no (1, 1, …) sample")
    if len(output.shape) != 4 or output.shape[1] < 1:
        raise inconsistent(bound, f"the output is {list(output.shape)}")
    cycles, slots = bound.attributes.cycles_max, output.shape[1]
    require(cycles == 1, f"it ends all runs but one in {cycles}")
    made = [((1, slots, *shape[2:]), DType.INT8)]
    if slots > 1:
        made.append((check_state(bound, 1, (1, slots - 1, *shape[2:])).shape, DType.INT8))
    return made


def _reference(
    bound: BoundOperator[CircularBufferAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    sample = inputs[0]
    assert sample is not None
    kept = inputs[1] if bound.outputs[0].shape[1] > 1 else None
    if kept is None:
        return [sample.copy()]
    samples = np.concatenate([kept, sample], axis=1)
    return [samples, samples[:, 1:]]


def _states(output: Tensor) -> dict[str, Array]:
    batch, slots, *rest = output.shape
    zero_point = output.zero_point if output.quantization is not None else 0
    return {"kept": np.full((batch, slots - 1, *rest), zero_point, np.int8)}


def _cycles(node: SourceNode, slots: int) -> int:
    """Returns after how many samples a run goes on behind the operator."""
    content = node.options if isinstance(node.options, bytes) else b""
    named = b"cycles_max" in content  # a file may leave it out
    cycles = signal_options(node, ["cycles_max"])["cycles_max"] if named else 0
    if cycles > 0:
        return cycles
    return 1 if slots in _EVERY_RUN else 2


def _import_tflite(node: SourceNode) -> Imported:
    if len(node.outputs) != 1:
        raise malformed(node, f"the operator has {len(node.outputs)} outputs")
    output = node.outputs[0]
    require(len(output.shape) == 4 and output.shape[1] > 0, f"'{output.name}' has no slots")
    attributes = CircularBufferAttributes(_cycles(node, output.shape[1]))
    require(attributes.cycles_max == 1, f"it ends all runs but one in {attributes.cycles_max}")
    imported = signal_import(node, attributes, 1, 1)
    return with_states(imported, state_tensors(output, _states(output)))


def _examples() -> Iterable[Example]:
    for slots in (1, 2, 5):
        sample = quantized("sample", (1, 1, 2, 3), 0.05, -7)
        output = quantized("output", (1, slots, 2, 3), 0.05, -7)
        attributes = CircularBufferAttributes()
        name = f"int8_{slots}"
        states = _states(output)
        yield signal_example(name, "circular_buffer", attributes, [sample], [output], states)


OPERATOR = OperatorKind(
    name="circular_buffer",
    attributes=CircularBufferAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:CIRCULAR_BUFFER": _import_tflite}},
    examples=_examples,
)
