"""A stream out of overlapping frames, which are added: `frame_step` samples per frame.

Input: (…, frames, samples); output: (…, frames · frame_step), int16, saturated, or float32. A
state keeps the sums that later frames add to.
Source: TFLite Micro, "signal/src/overlap_add.cc".
"""

from __future__ import annotations

import math
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
    saturate_int16,
    signal_example,
    signal_import,
    state_tensors,
    with_states,
)


@dataclass(frozen=True, slots=True)
class SignalOverlapAddAttributes(Attributes):
    """Samples from one frame to the next."""

    frame_step: int


def _infer(
    bound: BoundOperator[SignalOverlapAddAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, step = bound.input(0), bound.attributes.frame_step
    require_dtype(source, DType.INT16, DType.FLOAT32)
    require(len(source.shape) >= 2, f"'{source.name}' has the rank {len(source.shape)}")
    *outer, frames, size = source.shape
    require(1 <= step <= size, f"frames of {size} samples every {step}")
    made = [((*outer, frames * step), source.dtype)]
    if step < size:
        state = check_state(bound, 1, (math.prod(outer), size - step))
        made.append((state.shape, source.dtype))
    return made


def _reference(
    bound: BoundOperator[SignalOverlapAddAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    frames, step = inputs[0], bound.attributes.frame_step
    assert frames is not None
    rows = math.prod(frames.shape[:-2])
    count, size = frames.shape[-2:]
    sums = np.zeros((rows, size), frames.dtype)
    if step < size:
        state = inputs[1]
        assert state is not None
        sums[:, : size - step] = state
    stream = []
    for frame in np.moveaxis(frames.reshape(rows, count, size), 1, 0):
        if frames.dtype == np.int16:
            sums = saturate_int16(sums.astype(np.int32) + frame)
        else:
            sums = sums + frame
        stream.append(sums[:, :step])
        sums = np.concatenate([sums[:, step:], np.zeros((rows, step), frames.dtype)], axis=1)
    made = [np.concatenate(stream, axis=1).reshape(bound.outputs[0].shape)]
    if step < size:
        made.append(sums[:, : size - step])
    return made


def _states(source: Tensor, step: int) -> dict[str, Array]:
    shape = (math.prod(source.shape[:-2]), max(source.shape[-1] - step, 0))
    return {"sums": np.zeros(shape, source.dtype.numpy)}


def _import_tflite(node: SourceNode) -> Imported:
    attributes = read_attributes(node, SignalOverlapAddAttributes)
    imported = signal_import(node, attributes, 1, 1)
    source = imported.inputs[0]
    assert source is not None
    require_dtype(source, DType.INT16, DType.FLOAT32)
    require(attributes.frame_step >= 1, f"frames every {attributes.frame_step} samples")
    states = _states(source, attributes.frame_step)
    return with_states(imported, state_tensors(node.outputs[0], states))


def _examples() -> Iterable[Example]:
    def case(name: str, shape: tuple[int, ...], step: int, dtype: DType) -> Example:
        source = Tensor("frames", shape, dtype)
        output = Tensor("output", (*shape[:-2], shape[-2] * step), dtype)
        attributes, states = SignalOverlapAddAttributes(step), _states(source, step)
        return signal_example(name, "signal_overlap_add", attributes, [source], [output], states)

    yield case("int16", (3, 6), 2, DType.INT16)
    yield case("int16_rows", (2, 2, 7), 4, DType.INT16)
    yield case("int16_apart", (1, 2, 5), 5, DType.INT16)
    yield case("float32", (3, 6), 2, DType.FLOAT32)
    yield case("float32_rows", (2, 1, 7), 6, DType.FLOAT32)


OPERATOR = OperatorKind(
    name="signal_overlap_add",
    attributes=SignalOverlapAddAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalOverlapAdd": _import_tflite}},
    examples=_examples,
)
