"""Two long short-term memories over a sequence: one forward, one from its end to its start.

Each is a UNIDIRECTIONAL_SEQUENCE_LSTM; their outputs lie behind one another on the last axis
with `merge_outputs`, else they are two. The inputs are the sequence, 17 weights of either, and
hidden state and cell state of either. Source: LiteRT, "bidirectional_sequence_lstm.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype
from uhost.ops._lstm import Lstm, LstmAttributes
from uhost.ops._op import (
    OPERATORS,
    Example,
    Imported,
    OperatorKind,
    SourceNode,
    UnsupportedNodeError,
)
from uhost.ops._tflite import malformed, options_table

_INPUTS, _WEIGHTS, _STATES = 48, 17, 35
_TANH = 4


@dataclass(frozen=True, slots=True)
class BidirectionalSequenceLstmAttributes(Attributes):
    """Axes of the sequence, clips (0 is none), and whether there is one output."""

    time_major: bool
    cell_clip: float = 0.0
    projection_clip: float = 0.0
    merge_outputs: bool = False
    asymmetric: bool = False


_Bound = BoundOperator[BidirectionalSequenceLstmAttributes]


def directions(
    bound: _Bound,
) -> tuple[BoundOperator[LstmAttributes], BoundOperator[LstmAttributes]]:
    """Returns both memories, forward and backward, as if both went forward."""
    at = bound.attributes
    clips = at.cell_clip, at.projection_clip
    attributes = LstmAttributes(at.time_major, *clips, "litert", (), at.asymmetric)
    made = []
    for number in range(2):
        first, state = 1 + _WEIGHTS * number, _STATES + 2 * number
        states = bound.input(state), bound.input(state + 1)
        inputs = (bound.inputs[0], *bound.inputs[first : first + _WEIGHTS], *states)
        output = bound.outputs[0 if at.merge_outputs else number]
        name = f"{bound.name}_{('forward', 'backward')[number]}"
        made.append(
            BoundOperator(
                name, "unidirectional_sequence_lstm", attributes, inputs, (output, *states)
            )
        )
    return made[0], made[1]


def _infer(bound: _Bound) -> Sequence[tuple[tuple[int, ...], DType]]:
    if len(bound.inputs) != _STATES + 4:
        raise MalformedModelError(
            "a state is missing", where=f"operator '{bound.name}' (bidirectional_sequence_lstm)"
        )
    require_dtype(bound.input(0), DType.FLOAT32)
    kind = OPERATORS["unidirectional_sequence_lstm"]
    forward, backward = (list(kind.infer(one)) for one in directions(bound))
    outputs = [forward[0], backward[0]]
    if bound.attributes.merge_outputs:
        (*axes, one), other = forward[0][0], backward[0][0][-1]
        outputs = [((*axes, one + other), DType.FLOAT32)]
    return [*outputs, *forward[1:], *backward[1:]]


def _reference(bound: _Bound, inputs: Sequence[Array | None]) -> Sequence[Array]:
    at, x = bound.attributes, inputs[0]
    assert x is not None
    axis = 0 if at.time_major else 1
    kind = OPERATORS["unidirectional_sequence_lstm"]
    outputs: list[Array] = []
    states: list[Array] = []
    for number, one in enumerate(directions(bound)):
        first, state = 1 + _WEIGHTS * number, _STATES + 2 * number
        sequence = np.flip(x, axis) if number else x
        arrays = [sequence, *inputs[first : first + _WEIGHTS], *inputs[state : state + 2]]
        made, *after = kind.reference(one, arrays)
        outputs.append(np.ascontiguousarray(np.flip(made, axis)) if number else made)
        states += after
    if at.merge_outputs:
        outputs = [np.concatenate(outputs, axis=-1)]
    return [*outputs, *states]


def _import_tflite(node: SourceNode) -> Imported:
    options: Any = options_table(node, "BidirectionalSequenceLSTMOptions")
    if len(node.inputs) != _INPUTS or options is None:
        raise malformed(node, f"the operator has {len(node.inputs)} inputs, or no options")
    if options.FusedActivationFunction() != _TANH:
        raise UnsupportedNodeError("another activation than tanh")
    if any(node.inputs[index] is not None for index in range(_STATES + 4, _INPUTS)):
        raise UnsupportedNodeError("an auxiliary input")
    states = [node.inputs[index] for index in range(_STATES, _STATES + 4)]
    kept = tuple(state for state in states if state is not None)
    if len(kept) != len(states):
        raise malformed(node, "the operator lacks a state")
    # The weights of the forward memory's forget gate tell.
    types = [tensor.dtype for tensor in (node.inputs[0], node.inputs[2]) if tensor is not None]
    is_hybrid = types == [DType.FLOAT32, DType.INT8]
    attributes = BidirectionalSequenceLstmAttributes(
        bool(options.TimeMajor()),
        float(options.CellClip()),
        float(options.ProjClip()),
        bool(options.MergeOutputs()),
        is_hybrid and bool(options.AsymmetricQuantizeInputs()),
    )
    return Imported(attributes, node.inputs[: _STATES + 4], updates=kept)


def _examples() -> Iterable[Example]:
    base = {one.name: one for one in OPERATORS["unidirectional_sequence_lstm"].examples()}
    for source, merge in (
        ("float32", True),
        ("float32", False),
        ("float32_coupled", True),
        ("hybrid", False),
        ("hybrid_coupled", True),
        ("hybrid_everything", False),
    ):
        name = f"{source}_merged" if merge else source
        # LiteRT goes from one batch's hidden state to the next by the width of the merged output,
        # twice that of a state: all batches but the first keep theirs past its end.
        wrong = ("wrong_in_litert",) if merge and source == "float32" else ()
        yield Example(name, _doubled(name, base[source].graph, merge), ("float32", *wrong))


def _doubled(name: str, graph: Graph, merge: bool) -> Graph:
    """Returns a memory's graph with a second one beside it, of other weights."""
    [bound] = graph.bound_operators()
    lstm = Lstm(bound)
    weights: list[Tensor | None] = []
    states: list[Tensor] = []
    for label, factor in (("forward", 1.0), ("backward", -0.75)):
        for index in range(1, _WEIGHTS + 1):
            tensor = bound.optional_input(index)
            if tensor is not None:
                values = (tensor.constant() * factor).astype(tensor.dtype.numpy)
                tensor = replace(tensor, name=f"{label}_{tensor.name}", values=values)
            weights.append(tensor)
        states += [Tensor(f"{label}_{t.name}", t.shape, t.dtype) for t in bound.outputs[1:]]
    shape = (*bound.outputs[0].shape[:2], lstm.outputs * (2 if merge else 1))
    outputs = [Tensor(f"output_{n}", shape, DType.FLOAT32) for n in range(1 if merge else 2)]
    inputs = (bound.input(0), *weights, *states)
    at = bound.attributes
    operator = Operator(
        "bidirectional",
        "bidirectional_sequence_lstm",
        tuple(t.name if t is not None else "" for t in inputs),
        tuple(t.name for t in (*outputs, *states)),
        BidirectionalSequenceLstmAttributes(
            at.time_major, at.cell_clip, at.projection_clip, merge, at.asymmetric
        ),
    )
    return Graph(
        name,
        {t.name: t for t in (*inputs, *outputs) if t is not None},
        (operator,),
        graph.inputs,
        tuple(t.name for t in outputs),
        {t.name: np.zeros(t.shape, np.float32) for t in states},
    )


def _macs(bound: _Bound) -> int:
    kind = OPERATORS["unidirectional_sequence_lstm"]
    return sum(kind.macs(one) for one in directions(bound))


OPERATOR = OperatorKind(
    name="bidirectional_sequence_lstm",
    attributes=BidirectionalSequenceLstmAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"BIDIRECTIONAL_SEQUENCE_LSTM": _import_tflite}},
    examples=_examples,
    by_litert=lambda bound: True,
    macs=_macs,
    operands=lambda bound: (bound.input(0),),
)
