"""A frame together with those before and behind it, every `stacker_step` frames.

Input: (num_channels), int16. Outputs: all frames of the context, oldest first, and a boolean:
they are complete. Until then they are zeros; TFLite Micro leaves there what the memory held.
The first frame stands in for those before it.

States: the frames before the newest, and the number of frames until the next stack; 0 before
the first frame.
Source: TFLite Micro, "signal/micro/kernels/stacker.cc".
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
    signal_example,
    signal_import,
    state_tensors,
    with_states,
)


@dataclass(frozen=True, slots=True)
class SignalStackerAttributes(Attributes):
    """Numbers of a frame, frames before and behind, and frames from stack to stack."""

    num_channels: int
    stacker_left_context: int
    stacker_right_context: int
    stacker_step: int

    @property
    def before(self) -> int:
        """Frames of a stack before the newest."""
        return self.stacker_left_context + self.stacker_right_context


def _check(at: SignalStackerAttributes) -> None:
    contexts = at.stacker_left_context, at.stacker_right_context
    require(min(contexts) >= 0, f"a context of {contexts[0]} frames before, {contexts[1]} behind")
    require(1 <= at.stacker_step <= at.before + 1, f"a stack every {at.stacker_step} frames")
    elements = (at.before + 1) * at.num_channels
    require(0 < elements < 2**24, f"stacks of {elements} numbers")


def _infer(
    bound: BoundOperator[SignalStackerAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    frame, at = bound.input(0), bound.attributes
    require_dtype(frame, DType.INT16)
    _check(at)
    if frame.elements != at.num_channels:
        raise inconsistent(bound, f"a frame of {frame.elements} numbers, not {at.num_channels}")
    stack, valid = bound.outputs[:2]
    if stack.elements != (at.before + 1) * at.num_channels or valid.elements != 1:
        raise inconsistent(bound, f"a stack of {stack.elements} numbers")
    made = [(stack.shape, DType.INT16), (valid.shape, DType.BOOL)]
    if at.before:
        state = check_state(bound, 1, (at.before, at.num_channels))
        made.append((state.shape, DType.INT16))
    wait = check_state(bound, 1 + bool(at.before), (1,))
    return [*made, (wait.shape, DType.INT32)]


def _reference(
    bound: BoundOperator[SignalStackerAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    at, frame, wait = bound.attributes, inputs[0], inputs[-1]
    assert frame is not None
    assert wait is not None
    row = frame.reshape(1, -1)
    stack, left = row, int(wait[0])
    if at.before:
        history = inputs[1]
        assert history is not None
        stack = np.concatenate([history if left else row.repeat(at.before, 0), row])
    left = (left or at.stacker_right_context + 1) - 1
    made = [
        (stack if left == 0 else np.zeros_like(stack)).reshape(bound.outputs[0].shape),
        np.full(bound.outputs[1].shape, left == 0),
    ]
    if at.before:
        made.append(stack[1:].copy())
    return [*made, np.array([left or at.stacker_step], np.int32)]


def _states(at: SignalStackerAttributes) -> dict[str, Array]:
    history = np.zeros((at.before, at.num_channels), np.int16)
    return {"history": history, "wait": np.zeros(1, np.int32)}


def _import_tflite(node: SourceNode) -> Imported:
    attributes = read_attributes(node, SignalStackerAttributes)
    imported = signal_import(node, attributes, 1, 2)
    _check(attributes)
    return with_states(imported, state_tensors(node.outputs[0], _states(attributes)))


def _examples() -> Iterable[Example]:
    cases = {
        "int16": SignalStackerAttributes(5, 2, 1, 2),
        "int16_before": SignalStackerAttributes(3, 3, 0, 1),
        "int16_behind": SignalStackerAttributes(3, 0, 3, 4),
        "int16_alone": SignalStackerAttributes(4, 0, 0, 1),
    }
    for name, at in cases.items():
        frame = Tensor("frame", (at.num_channels,), DType.INT16)
        stack = Tensor("stack", ((at.before + 1) * at.num_channels,), DType.INT16)
        outputs = stack, Tensor("valid", (), DType.BOOL)
        yield signal_example(name, "signal_stacker", at, [frame], outputs, _states(at))


OPERATOR = OperatorKind(
    name="signal_stacker",
    attributes=SignalStackerAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalStacker": _import_tflite}},
    examples=_examples,
)
