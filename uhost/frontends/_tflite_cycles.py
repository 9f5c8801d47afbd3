"""CIRCULAR_BUFFERs that let only every n-th run go on: what follows becomes a branch.

TFLite Micro ends a run behind such an operator, but for every run number `cycles_max`. Here
the operator says whether the run goes on, and all operators behind it are a graph that an IF
runs. Results of the model that this graph makes are states, which keep what the last whole run
gave; they begin as zeros, where TFLite Micro has what the memory held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from uhost.frontends._import import fresh_name
from uhost.frontends._node import Declared, Node
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import UnsupportedNodeError
from uhost.ops.circular_buffer import COUNTING, cycles_of

_OPERATOR = "CUSTOM:CIRCULAR_BUFFER"
States = dict[str, tuple[Tensor, Array]]
Make = Callable[[Sequence[Node], Sequence[Declared], States], Graph]
"""Makes a called graph of nodes, inputs and states; it has no results."""


class IfOptions:
    """Options of an IF that no file has: the first graph where the run goes on, else the second."""

    def ThenSubgraphIndex(self) -> int:  # noqa: N802, as the schema's table has it
        """Returns the number of what follows."""
        return 0

    def ElseSubgraphIndex(self) -> int:  # noqa: N802
        """Returns the number of the empty graph."""
        return 1


@dataclass(frozen=True, slots=True)
class Split:
    """Nodes with the branch among them, and the states that they name."""

    nodes: tuple[Node, ...]
    states: States


def split_cycles(
    nodes: Sequence[Node], outputs: Sequence[Declared], states: States, make: Make
) -> Split:
    """Returns what computes a model of `nodes` in every run, as in this file's docstring."""
    place = next((i for i, node in enumerate(nodes) if _ends_runs(node)), None)
    if place is None:
        return Split(tuple(nodes), states)
    names = {t.name for node in nodes for t in node.declared if t is not None} | states.keys()
    names |= {tensor.name for tensor in outputs}

    def fresh(name: str) -> str:
        made = fresh_name(name, len(names), names)
        names.add(made)
        return made

    buffer = nodes[place]
    goes_on = Tensor(fresh(f"{buffer.declared_outputs[0].name}_goes_on"), (), DType.BOOL)
    made = (*buffer.declared_outputs, goes_on)
    before = (*nodes[:place], replace(buffer, operator=COUNTING, declared_outputs=made))
    after = list(nodes[place + 1 :])
    if not after:
        return Split(before, states)
    written = {tensor.name for node in after for tensor in node.declared_outputs}
    kept: States = {}
    reads: list[Node] = []
    for tensor in outputs:
        if tensor.name in written and isinstance(tensor, Tensor):
            state = replace(tensor, name=fresh(f"{tensor.name}_kept"))
            kept[state.name] = state, np.zeros(state.shape, state.dtype.numpy)
            index = len(nodes) + 2 * len(kept)
            after.append(Node(index, "ASSIGN_VARIABLE", (tensor,), (state,), None, buffer.place))
            reads.append(Node(index + 1, "READ_VARIABLE", (state,), (tensor,), None, buffer.place))
    # Files may declare slots as lasting, which is why there is memory for them: an argument here.
    slots = {
        t.name for n in before if n.operator in (_OPERATOR, COUNTING) for t in n.declared_outputs
    }
    inner = {n: s for n, s in _named_by(after, states).items() if n not in slots} | kept
    arguments = _arguments(after, written, inner)
    branch = Split(tuple(after), inner)
    branch = split_cycles(branch.nodes, (), branch.states, make)
    called = make(branch.nodes, arguments, branch.states), make((), arguments, {})
    outer = _named_by(before, states)
    shared = outer.keys() & inner.keys() | kept.keys()
    decision = Node(
        len(nodes),
        "IF",
        (goes_on, *arguments),
        (),
        IfOptions(),
        buffer.place,
        subgraph=lambda index: called[index],
        variables={name: inner[name][0] for name in shared},
    )
    return Split((*before, decision, *reads), outer | {n: inner[n] for n in shared})


def _ends_runs(node: Node) -> bool:
    if node.operator != _OPERATOR or len(node.declared_outputs) != 1:
        return False
    if not isinstance(node.declared_outputs[0], Tensor):
        return False
    try:
        return cycles_of(node) > 1
    except UnsupportedNodeError:
        return False  # its import says why


def _named_by(nodes: Sequence[Node], states: Mapping[str, tuple[Tensor, Array]]) -> States:
    """Returns the states that the nodes read or write."""
    named = {t.name for node in nodes for t in node.declared if t is not None}
    named |= {tensor.name for node in nodes for tensor in node.variables.values()}
    return {name: state for name, state in states.items() if name in named}


def _arguments(
    nodes: Sequence[Node], written: set[str], states: Mapping[str, tuple[Tensor, Array]]
) -> tuple[Declared, ...]:
    """Returns what the nodes read of what comes before them."""
    read = (tensor for node in nodes for tensor in node.declared_inputs if tensor is not None)
    found: dict[str, Declared] = {}
    for tensor in read:
        if not (tensor.is_constant or tensor.name in written or tensor.name in states):
            found.setdefault(tensor.name, tensor)
    return tuple(found.values())
