"""Removes operators whose results nobody reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from uhost.config.pass_context import PassContext
from uhost.ir.graph import Graph
from uhost.ir.module import IRModule


@dataclass(frozen=True, slots=True)
class RemoveDeadOperators:
    """Keeps the operators that an output of the graph, or a state, depends on."""

    opt_level: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("fold_constants", "remove_copies")

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module without dead operators."""
        return module.map_graphs(_remove)


def _remove(graph: Graph) -> Graph:
    needed = {*graph.outputs, *graph.states}
    kept = []
    for operator in reversed(graph.operators):
        if needed.intersection(operator.outputs):
            kept.append(operator)
            needed.update(operator.inputs)
    return graph.with_operators(tuple(reversed(kept)))


PASS = RemoveDeadOperators
