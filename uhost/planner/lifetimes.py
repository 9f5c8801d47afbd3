"""Lifetimes: which bytes of the arena are needed from which step to which."""

from __future__ import annotations

from collections.abc import Mapping

from uhost.ir.graph import Graph
from uhost.ops._op import OPERATORS
from uhost.planner.plan import Block

SCRATCH_SUFFIX = ":scratch"


def view_operators(graph: Graph) -> frozenset[str]:
    """Returns the names of operators that need no code: their output is their input's bytes.

    A view of a constant stays a copy: its bytes must lie in the arena. So does a view of a
    state that is read when the state may have changed.
    """
    views: set[str] = set()
    roots: dict[str, str] = {}
    copies = _views_outlived(graph)
    for operator in graph.operators:
        if not OPERATORS[operator.kind].is_view:
            continue
        source, result = operator.inputs[0], operator.outputs[0]
        root = roots.get(source, source)
        if graph.tensors[root].is_constant or operator.name in copies:
            continue
        views.add(operator.name)
        roots[result] = root
    return frozenset(views)


def _views_outlived(graph: Graph) -> frozenset[str]:
    """Returns the operators whose output would be a view of a state, and must not be.

    The output, or a view of it, is read at or after the next write of the state, is an
    output of the graph, or is the view of a state written into another state.
    """
    outlived: set[str] = set()
    # Tensor → its state, and the first step of the chain of views it stands for.
    origin: dict[str, tuple[str, str, int]] = {}
    written: dict[str, int] = {}
    for step, operator in enumerate(graph.operators):
        for name in operator.inputs:
            if name in origin:
                state, first, made = origin[name]
                if written.get(state, -1) > made or state in operator.outputs:
                    outlived.add(first)
        source = operator.inputs[0] if operator.inputs else ""
        if OPERATORS[operator.kind].is_view and source:
            result = operator.outputs[0]
            if result in graph.states:
                outlived.add(operator.name)
            elif source in graph.states:
                origin[result] = (source, operator.name, step)
            elif source in origin:
                origin[result] = origin[source]
        for name in operator.outputs:
            if name in graph.states:
                written[name] = step
    outlived.update(origin[name][1] for name in graph.outputs if name in origin)
    return frozenset(outlived)


def view_roots(graph: Graph, views: frozenset[str]) -> dict[str, str]:
    """Returns, for each tensor that lies in another, the tensor that owns the bytes."""
    roots: dict[str, str] = {}
    for operator in graph.operators:
        if operator.name in views:
            source = operator.inputs[0]
            roots[operator.outputs[0]] = roots.get(source, source)
    return roots


def lasting(graph: Graph, keep_inputs: bool) -> tuple[str, ...]:
    """Returns the tensors that are read after a run: outputs, and inputs that are kept."""
    return (*graph.outputs, *(graph.inputs if keep_inputs else ()))


def blocks_of(
    graph: Graph,
    roots: Mapping[str, str],
    scratch_bytes: Mapping[str, int],
    keep_inputs: bool = False,
) -> tuple[Block, ...]:
    """Returns a block for every tensor that owns bytes, and one for every kernel's scratch.

    `scratch_bytes` is operator name → bytes. Constants lie in flash and have no block.
    Scratch is live during its own step only, a state from the first step to the last. An
    output, and with `keep_inputs` an input, is live to the last step.
    """
    last_step = max(len(graph.operators) - 1, 0)
    first: dict[str, int] = {}
    last: dict[str, int] = {}

    def touch(tensor: str, step: int) -> None:
        root = roots.get(tensor, tensor)
        first[root] = min(first.get(root, step), step)
        last[root] = max(last.get(root, step), step)

    for name in graph.states:
        touch(name, 0)
        touch(name, last_step)
    for name in graph.inputs:
        touch(name, 0)
    for step, operator in enumerate(graph.operators):
        for name in (*operator.inputs, *operator.outputs):
            if name and not graph.tensors[name].is_constant:
                touch(name, step)
    for name in lasting(graph, keep_inputs):
        touch(name, last_step)
    tensors = [
        Block(name, graph.tensors[name].size_bytes, first[name], last[name]) for name in first
    ]
    scratch = [
        Block(operator.name + SCRATCH_SUFFIX, scratch_bytes[operator.name], step, step)
        for step, operator in enumerate(graph.operators)
        if scratch_bytes.get(operator.name)
    ]
    return (*tensors, *scratch)
