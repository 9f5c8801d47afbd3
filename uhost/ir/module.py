"""IRModule: the models of one compilation, with the constraints on the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from uhost.config.compilation import CompilationConfig
from uhost.ir.graph import Graph


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
        """Returns a module with `function` applied to every graph."""
        return replace(self, graphs={name: function(g) for name, g in self.graphs.items()})

    def __str__(self) -> str:
        return "\n".join(str(graph) for graph in self.graphs.values())
