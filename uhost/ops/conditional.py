"""IF: one of two graphs runs, by a condition.

Inputs: the condition, one boolean; the arguments of both graphs; the states that they change.
Outputs: the results of the graph that ran, and the states. The other graph does not run.
Source: TFLite Micro, "if.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, CallingAttributes, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._call_examples import accumulate, halves, passed
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


@dataclass(frozen=True, slots=True)
class ConditionalAttributes(CallingAttributes):
    """The graph that runs where the condition holds, and the one that runs where not."""

    @property
    def roles(self) -> tuple[str, ...]:
        """What each graph is for, in one word."""
        return ("then", "otherwise")


def _infer(bound: BoundOperator[ConditionalAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    condition = bound.input(0)
    if condition.dtype is not DType.BOOL or condition.elements != 1:
        raise contradiction(bound, f"the condition '{condition.name}' is no single boolean")
    first, second = bound.attributes.called
    for graph in first, second:
        check_ends(bound, graph, graph.inputs, arguments_of(bound, 1))
        made = [graph.tensors[name] for name in graph.outputs]
        check_ends(bound, first, first.outputs, made)
    return [*ends_of(first), *((t.shape, t.dtype) for t in states_of(bound))]


def _reference(
    bound: BoundOperator[ConditionalAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    arrays = [array for array in inputs if array is not None]
    count = len(arrays) - len(bound.attributes.states)
    number = 0 if bool(arrays[0].reshape(-1)[0]) else 1
    results, states = call(bound.attributes, number, arrays[1:count], arrays[count:])
    return [*results, *states]


def _import_tflite(node: SourceNode) -> Imported:
    fields = ("ThenSubgraphIndex", "ElseSubgraphIndex")
    return import_calls(node, "IfOptions", fields, ConditionalAttributes)


def _example(name: str, first: Graph, second: Graph, states: dict[str, Array]) -> Example:
    condition = Tensor("condition", (), DType.BOOL)
    arguments = [first.tensors[one] for one in first.inputs]
    results = [first.tensors[one] for one in first.outputs]
    inputs = [Tensor(f"argument_{n}", t.shape, t.dtype) for n, t in enumerate(arguments)]
    outputs = [Tensor(f"result_{n}", t.shape, t.dtype) for n, t in enumerate(results)]
    kept = [Tensor(f"own_{n}", v.shape, DType(str(v.dtype))) for n, v in states.items()]
    known = tuple((n if n in first.states else "", n if n in second.states else "") for n in states)
    operator = Operator(
        "conditional",
        "conditional",
        ("condition", *(t.name for t in (*inputs, *kept))),
        tuple(t.name for t in (*outputs, *kept)),
        ConditionalAttributes((first, second), known),
    )
    graph = Graph(
        name,
        {t.name: t for t in (condition, *inputs, *outputs, *kept)},
        (operator,),
        ("condition", *(t.name for t in inputs)),
        tuple(t.name for t in outputs),
        {f"own_{n}": values for n, values in states.items()},
    )
    return Example(name, graph, ("control",))


def _examples() -> Iterable[Example]:
    yield _example("halves", halves("then", swap=False), halves("otherwise", swap=True), {})
    start = np.array([1.0, -2.0, 3.0], np.float32)
    yield _example("state", accumulate(start), passed(), {"sum": start})


def _macs(bound: BoundOperator[ConditionalAttributes]) -> int:
    return max(called_macs(bound))


OPERATOR = OperatorKind(
    name="conditional",
    attributes=ConditionalAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"IF": _import_tflite}},
    examples=_examples,
    macs=_macs,
)
