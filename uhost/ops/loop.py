"""WHILE: a graph runs on its own results as long as a condition of them holds.

Inputs: the first values, and the states that the graphs change. Outputs: the last values, and
the states. The graph of the condition makes one boolean, and runs before every round.
Source: TFLite Micro, "while.cc".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uhost.errors import VerifyError
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, CallingAttributes, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._call_examples import is_below, raised
from uhost.ops._calls import (
    arguments_of,
    call,
    called_macs,
    check_ends,
    contradiction,
    ends_of,
    import_calls,
    states_of,
)
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode

ROUNDS_LIMIT = 2**16
"""Rounds after which the reference takes a loop for one that never ends."""


@dataclass(frozen=True, slots=True)
class LoopAttributes(CallingAttributes):
    """The graph of the condition, and that of a round."""

    @property
    def roles(self) -> tuple[str, ...]:
        """What each graph is for, in one word."""
        return ("condition", "body")


def _infer(bound: BoundOperator[LoopAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    condition, body = bound.attributes.called
    values = arguments_of(bound)
    check_ends(bound, condition, condition.inputs, values)
    check_ends(bound, body, body.inputs, values)
    check_ends(bound, body, body.outputs, values)
    made = ends_of(condition)
    if len(made) != 1 or made[0][1] is not DType.BOOL or math.prod(made[0][0]) != 1:
        raise contradiction(bound, f"'{condition.name}' makes no single boolean")
    return [*ends_of(body), *((t.shape, t.dtype) for t in states_of(bound))]


def _reference(
    bound: BoundOperator[LoopAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    at = bound.attributes
    arrays = [array for array in inputs if array is not None]
    count = len(arrays) - len(at.states)
    values, states = arrays[:count], arrays[count:]
    for _ in range(ROUNDS_LIMIT):
        [goes_on], states = call(at, 0, values, states)
        if not goes_on.reshape(-1)[0]:
            return [*values, *states]
        values, states = call(at, 1, values, states)
    raise VerifyError(f"the loop '{bound.name}' has not ended after {ROUNDS_LIMIT} rounds")


def _import_tflite(node: SourceNode) -> Imported:
    fields = ("CondSubgraphIndex", "BodySubgraphIndex")
    return import_calls(node, "WhileOptions", fields, LoopAttributes)


def _example(name: str, condition: Graph, body: Graph) -> Example:
    values = [body.tensors[one] for one in body.inputs]
    inputs = [Tensor(f"first_{n}", t.shape, t.dtype) for n, t in enumerate(values)]
    outputs = [Tensor(f"last_{n}", t.shape, t.dtype) for n, t in enumerate(values)]
    operator = Operator(
        "loop",
        "loop",
        tuple(t.name for t in inputs),
        tuple(t.name for t in outputs),
        LoopAttributes((condition, body)),
    )
    graph = Graph(
        name,
        {t.name: t for t in (*inputs, *outputs)},
        (operator,),
        operator.inputs,
        operator.outputs,
    )
    return Example(name, graph, ("control",))


def _examples() -> Iterable[Example]:
    yield _example("sum", is_below(4.0), raised())


def _macs(bound: BoundOperator[LoopAttributes]) -> int:
    return sum(called_macs(bound))


OPERATOR = OperatorKind(
    name="loop",
    attributes=LoopAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"WHILE": _import_tflite}},
    examples=_examples,
    macs=_macs,
)
