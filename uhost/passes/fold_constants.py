"""Computes at compile time every operator whose inputs are all constants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from uhost.config.pass_context import PassContext
from uhost.ir.graph import Graph, Operator
from uhost.ir.module import IRModule
from uhost.ops._op import OPERATORS, checked


@dataclass(frozen=True, slots=True)
class FoldConstants:
    """Replaces operators on constants by their results, which the exact reference gives.

    An operator that makes an output of the graph or writes a state stays: both are memory
    that is written.
    """

    opt_level: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ()

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module with constant operators folded."""
        return module.map_graphs(_fold)


def _fold(graph: Graph) -> Graph:
    tensors = dict(graph.tensors)
    kept: list[Operator] = []
    for operator in graph.operators:
        sources = [tensors[name] for name in operator.inputs if name]
        is_output = any(name in graph.outputs or name in graph.states for name in operator.outputs)
        if (
            is_output
            or not sources
            or not all(t.is_constant or not OPERATORS[operator.kind].reads_values for t in sources)
        ):
            kept.append(operator)
            continue
        bound = replace(graph, tensors=tensors).bind(operator)
        arrays = [tensors[name].values if name else None for name in operator.inputs]
        results = OPERATORS[operator.kind].reference(bound, arrays)
        for name, result in zip(operator.outputs, results, strict=True):
            tensors[name] = replace(tensors[name], values=checked(tensors[name], result))
    return graph.with_operators(tuple(kept), tensors)


PASS = FoldConstants
