"""What IF and WHILE share: graphs that an operator runs, and the states that they change.

Values go in and out as their bytes are, whatever quantisation either side declares. States of
the called graphs are states of the caller: the last inputs and the last outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, CallingAttributes, Graph
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import (
    OPERATORS,
    CallingNode,
    Imported,
    SourceNode,
    UnsupportedNodeError,
    evaluate,
)
from uhost.ops._tflite import malformed, options_table


def import_calls(
    node: SourceNode, table: str, fields: Sequence[str], attributes: type[CallingAttributes]
) -> Imported:
    """Returns the imported form of a node that calls the graphs its options' `fields` number."""
    options: Any = options_table(node, table)
    if options is None or not isinstance(node, CallingNode):
        raise malformed(node, "the operator names no subgraph")
    if node.from_uint8:
        raise UnsupportedNodeError("uint8")
    called = tuple(node.subgraph(int(getattr(options, field)())) for field in fields)
    kept: list[Tensor] = []
    names: list[tuple[str, ...]] = []
    initial: dict[Tensor, Array] = {}
    for number, graph in enumerate(called):
        for name, values in graph.states.items():
            tensor = graph.tensors[name]
            shared = node.variables.get(name)
            if shared is not None and shared in kept:
                at = kept.index(shared)
                names[at] = (*names[at][:number], name, *names[at][number + 1 :])
                continue
            if shared is None:  # a variable of the called graph alone
                tensor = replace(tensor)
                initial[tensor] = values
            kept.append(shared or tensor)
            names.append(tuple(name if n == number else "" for n in range(len(called))))
    return Imported(
        attributes(called, tuple(names)), (*node.inputs, *kept), tuple(kept), states=initial
    )


def contradiction(bound: BoundOperator[Any], what: str) -> MalformedModelError:
    """Returns the error that an operator does not fit the graphs that it runs."""
    return MalformedModelError(what, where=f"operator '{bound.name}' ({bound.kind})")


def arguments_of(bound: BoundOperator[Any], first: int = 0) -> tuple[Tensor, ...]:
    """Returns the inputs from number `first` on that are no states."""
    count = len(bound.inputs) - len(bound.attributes.states)
    return tuple(bound.input(index) for index in range(first, count))


def states_of(bound: BoundOperator[Any]) -> tuple[Tensor, ...]:
    """Returns the states, in order."""
    first = len(bound.inputs) - len(bound.attributes.states)
    return tuple(bound.input(index) for index in range(first, len(bound.inputs)))


def check_ends(
    bound: BoundOperator[Any], graph: Graph, names: Sequence[str], tensors: Sequence[Tensor]
) -> None:
    """Raises `MalformedModelError` unless `names` of a graph are shaped as `tensors`."""
    if len(names) != len(tensors):
        raise contradiction(
            bound, f"'{graph.name}' takes or makes {len(names)} values, not {len(tensors)}"
        )
    for name, tensor in zip(names, tensors, strict=True):
        own = graph.tensors[name]
        if (own.shape, own.dtype) != (tensor.shape, tensor.dtype):
            raise contradiction(
                bound,
                f"'{own.name}' of '{graph.name}' is {own.dtype}{list(own.shape)}, but "
                f"'{tensor.name}' is {tensor.dtype}{list(tensor.shape)}",
            )


def ends_of(graph: Graph) -> list[tuple[tuple[int, ...], DType]]:
    """Returns shape and type of every output of a graph."""
    outputs = (graph.tensors[name] for name in graph.outputs)
    return [(tensor.shape, tensor.dtype) for tensor in outputs]


def call(
    at: CallingAttributes, number: int, arguments: Sequence[Array], states: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Returns the results of graph `number` on arguments, and the states after it."""
    graph = at.called[number]
    own = [names[number] for names in at.states]
    before = {name: values for name, values in zip(own, states, strict=True) if name}
    values = evaluate(
        graph,
        dict(zip(graph.inputs, arguments, strict=True)),
        {name: before[name] for name in graph.states},
    )
    after = [values.get(name, old) for name, old in zip(own, states, strict=True)]
    return [values[name] for name in graph.outputs], after


def called_macs(bound: BoundOperator[Any]) -> list[int]:
    """Returns the multiply-accumulates of one run of each graph."""
    return [
        sum(OPERATORS[inner.kind].macs(inner) for inner in graph.bound_operators())
        for graph in bound.attributes.called
    ]
