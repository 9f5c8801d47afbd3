"""Puts the branch that runs in the place of every IF whose condition is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from uhost.config.pass_context import PassContext
from uhost.ir.graph import CallingAttributes, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Tensor
from uhost.ops.reshape import ReshapeAttributes
from uhost.passes.fold_constants import FoldConstants

_KIND = "conditional"


@dataclass(frozen=True, slots=True)
class FoldConditions:
    """Replaces an IF on a constant by its branch, and folds what that makes constant.

    Where the branch declares other quantisations than the IF's own tensors have, it stays.
    """

    opt_level: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("fold_constants",)

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module with known branches in the place of their operators."""
        while any(_next(graph) is not None for graph in module.graphs.values()):
            module = FoldConstants().run(module.map_graphs(_fold), context)
        return module.map_graphs(_fold)


def _fold(graph: Graph) -> Graph:
    found = _next(graph)
    while found is not None:
        graph = _inlined(graph, *found)
        found = _next(graph)
    return graph


def _next(graph: Graph) -> tuple[int, int] | None:
    """Returns the position of the first IF to replace, and the branch that it takes."""
    for position, operator in enumerate(graph.operators):
        if operator.kind != _KIND:
            continue
        condition = graph.tensors[operator.inputs[0]].values
        if condition is None:
            continue
        number = 0 if bool(condition.reshape(-1)[0]) else 1
        if _agrees(graph, operator, number):
            return position, number
    return None


def _ends(operator: Operator, number: int) -> tuple[Graph, dict[str, str], tuple[str, ...]]:
    """Returns a branch, what its inputs and states are called outside, and the results."""
    at = operator.attributes
    assert isinstance(at, CallingAttributes)
    branch = at.called[number]
    count = len(operator.inputs) - len(at.states)
    outside = dict(zip(branch.inputs, operator.inputs[1:count], strict=True))
    for names, state in zip(at.states, operator.inputs[count:], strict=True):
        if names[number]:
            outside[names[number]] = state
    return branch, outside, operator.outputs[: len(operator.outputs) - len(at.states)]


def _agrees(graph: Graph, operator: Operator, number: int) -> bool:
    """True if both sides declare the same quantisation of every value."""
    branch, outside, results = _ends(operator, number)
    pairs = [
        *((inner, outer) for inner, outer in outside.items() if inner in branch.tensors),
        *zip(branch.outputs, results, strict=True),
    ]
    return all(
        branch.tensors[inner].quantization == graph.tensors[outer].quantization
        for inner, outer in pairs
    )


def _inlined(graph: Graph, position: int, number: int) -> Graph:
    operator = graph.operators[position]
    branch, names, results = _ends(operator, number)
    made = {name for one in branch.operators for name in one.outputs} - branch.states.keys()
    copied: list[tuple[str, str]] = []
    for inner, result in zip(branch.outputs, results, strict=True):
        if inner in made and inner not in names:
            names[inner] = result
        else:
            copied.append((inner, result))
    tensors = dict(graph.tensors)
    for name, tensor in branch.tensors.items():
        if name not in names:
            names[name] = _fresh(f"{operator.name}_{name}", tensors)
            tensors[names[name]] = replace(tensor, name=names[name])
    taken = {one.name: one for one in graph.operators}
    inner_operators = []
    for one in branch.operators:
        name = _fresh(f"{operator.name}_{one.name}", taken)
        taken[name] = one
        inner_operators.append(
            replace(
                one,
                name=name,
                inputs=tuple(names[i] if i else "" for i in one.inputs),
                outputs=tuple(names[o] for o in one.outputs),
            )
        )
    for inner, result in copied:
        name = _fresh(f"{operator.name}_copy", taken)
        copy = Operator(name, "reshape", (names[inner],), (result,), ReshapeAttributes())
        taken[name] = copy
        inner_operators.append(copy)
    before, after = graph.operators[:position], graph.operators[position + 1 :]
    return graph.with_operators((*before, *inner_operators, *after), tensors)


def _fresh(name: str, taken: Mapping[str, Operator] | Mapping[str, Tensor]) -> str:
    """Returns `name`, or the nearest that is not taken."""
    fresh, number = name, 2
    while fresh in taken:
        fresh, number = f"{name}_{number}", number + 1
    return fresh


PASS = FoldConditions
