"""The newest input behind the ones before it: a window over the runs of a streaming model.

Input: (1, 1, …), output: (1, slots, …), int8, oldest slot first; a state keeps the slots of the
runs before. They begin as zeros, or as the zero point where the file says that the output is
kept from run to run. TFLite Micro can have such an operator end all runs but every n-th: then
a further output says whether the run goes on, by a state that counts.
Source: TFLite Micro, "circular_buffer.cc".
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
from uhost.ops._movement import require_moved
from uhost.ops._op import CallingNode, Example, Imported, OperatorKind, SourceNode
from uhost.ops._signal import (
    check_state,
    inconsistent,
    signal_example,
    signal_import,
    signal_options,
    state_tensors,
    with_states,
)

COUNTING = "CIRCULAR_BUFFER"
"""What the frontend makes of a node that ends runs: one that says whether the run goes on."""

_LEGACY_SLOTS = (5, 13)
"""Slots of streaming models whose files do not say how often the operator lets a run go on."""


@dataclass(frozen=True, slots=True)
class CircularBufferAttributes(Attributes):
    """Every `cycles_max`-th run goes on behind the operator."""

    cycles_max: int


def _kept(output: Tensor) -> tuple[int, ...]:
    """Returns the shape of the slots that stay for the next run."""
    return (1, output.shape[1] - 1, *output.shape[2:])


def _slots_kept(bound: BoundOperator[CircularBufferAttributes]) -> int:
    """Returns how many states keep slots: 1, or 0 where there is one slot."""
    return int(bound.outputs[0].shape[1] > 1)


def _infer(
    bound: BoundOperator[CircularBufferAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    newest, output = bound.input(0), bound.outputs[0]
    require_dtype(newest, DType.INT8)
    require_moved(newest, output)
    cycles = bound.attributes.cycles_max
    require(
        cycles == 1 or DType.BOOL in [tensor.dtype for tensor in bound.outputs],
        f"but for every run number {cycles} it ends the run of a graph that is called",
    )
    fits = len(output.shape) == 4 and newest.shape == (1, 1, *output.shape[2:])
    if not fits or output.shape[0] != 1 or output.shape[1] < 1:
        raise inconsistent(bound, f"an input {list(newest.shape)} for slots {list(output.shape)}")
    made: list[tuple[tuple[int, ...], DType]] = [(output.shape, DType.INT8)]
    if cycles > 1:
        made.append(((), DType.BOOL))
    if output.shape[1] > 1:
        made.append((check_state(bound, 1, _kept(output)).shape, DType.INT8))
    if cycles > 1:
        made.append((check_state(bound, 1 + _slots_kept(bound), (1,)).shape, DType.INT32))
    return made


def _reference(
    bound: BoundOperator[CircularBufferAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    kept = _slots_kept(bound)
    parts = [one for one in reversed(inputs[: 1 + kept]) if one is not None]
    slots = np.concatenate(parts, axis=1)
    states = [slots[:, 1:].copy()] * kept
    if bound.attributes.cycles_max == 1:
        return [slots, *states]
    count = inputs[1 + kept]
    assert count is not None
    after = (count + 1) % bound.attributes.cycles_max
    return [slots, np.array(after[0] == 0), *states, after.astype(np.int32)]


def cycles_of(node: SourceNode) -> int:
    """Returns the number of runs of which one goes on behind the operator."""
    output = node.outputs[0]
    require(len(output.shape) == 4, f"'{output.name}' has the rank {len(output.shape)}, not 4")
    is_named = isinstance(node.options, bytes) and b"cycles_max" in node.options
    cycles = signal_options(node, ["cycles_max"])["cycles_max"] if is_named else 0
    if cycles <= 0:
        require(output.shape[1] in _LEGACY_SLOTS, "its options do not say when a run goes on")
        cycles = 1
    require(cycles < 1 << 31, f"cycles of {cycles} runs")
    return cycles


def _import_tflite(node: SourceNode) -> Imported:
    return _imported(node, says=False)


def _import_counting(node: SourceNode) -> Imported:
    return _imported(node, says=True)


def _imported(node: SourceNode, *, says: bool) -> Imported:
    imported = signal_import(node, CircularBufferAttributes(0), 1, 1 + says)
    cycles = cycles_of(node)
    output = node.outputs[0]
    is_kept = isinstance(node, CallingNode) and output.name in node.kept
    first = output.zero_point if is_kept and output.quantization is not None else 0
    initial: dict[str, Array] = {"kept": np.full(_kept(output), first, np.int8)}
    if says:
        initial["count"] = np.zeros(1, np.int32)
    states = state_tensors(output, initial)
    attributes = CircularBufferAttributes(cycles)
    return with_states(Imported(attributes, imported.inputs), states)


def _examples() -> Iterable[Example]:
    shapes = {"int8": (1, 4, 1, 3), "int8_wide": (1, 2, 3, 2), "int8_one": (1, 1, 1, 5)}
    for name, shape in shapes.items():
        newest = quantized("newest", (1, 1, *shape[2:]), 0.5, 3)
        output = quantized("slots", shape, 0.5, 3)
        states = {"kept": np.zeros(_kept(output), np.int8)}
        attributes = CircularBufferAttributes(1)
        yield signal_example(name, "circular_buffer", attributes, [newest], [output], states)
    for name in ("int8", "int8_one"):
        shape, goes_on = shapes[name], Tensor("goes_on", (), DType.BOOL)
        newest = quantized("newest", (1, 1, *shape[2:]), 0.5, 3)
        ends = [quantized("slots", shape, 0.5, 3), goes_on]
        states = {"kept": np.zeros(_kept(ends[0]), np.int8), "count": np.zeros(1, np.int32)}
        attributes, name = CircularBufferAttributes(3), f"{name}_cycles"
        yield signal_example(name, "circular_buffer", attributes, [newest], ends, states)


OPERATOR = OperatorKind(
    name="circular_buffer",
    attributes=CircularBufferAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:CIRCULAR_BUFFER": _import_tflite, COUNTING: _import_counting}},
    examples=_examples,
)
