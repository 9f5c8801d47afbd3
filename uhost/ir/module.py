"""IRModule: the models of one compilation, with the constraints on the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from uhost.config.compilation import CompilationConfig
from uhost.ir.graph import CallingAttributes, Graph, Operator


@dataclass(frozen=True, slots=True, eq=False)
class IRModule:
    """Model name → graph, and the attached `CompilationConfig`."""

    graphs: Mapping[str, Graph]
    config: CompilationConfig

    def __post_init__(self) -> None:
        object.__setattr__(self, "graphs", MappingProxyType(dict(self.graphs)))

    def verify(self) -> None:
        """Raises `VerifyError` unless every graph verifies."""
        for graph in self.graphs.values():
            graph.verify()

    def map_graphs(self, function: Callable[[Graph], Graph]) -> IRModule:
        """Returns a module with `function` applied to every graph, after those that it calls."""
        graphs = {name: _map_graph(graph, function) for name, graph in self.graphs.items()}
        return replace(self, graphs=graphs)

    def __str__(self) -> str:
        return "\n".join(str(graph) for graph in self.graphs.values())


def _map_graph(graph: Graph, function: Callable[[Graph], Graph]) -> Graph:
    def within(operator: Operator) -> Operator:
        at = operator.attributes
        if not isinstance(at, CallingAttributes):
            return operator
        called = tuple(_map_graph(one, function) for one in at.called)
        return replace(operator, attributes=replace(at, called=called))

    operators = tuple(within(operator) for operator in graph.operators)
    return function(replace(graph, operators=operators))
