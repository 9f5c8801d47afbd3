"""The operators and tensors of a model file, as a frontend hands them to the importers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from uhost.ir.graph import Graph
from uhost.ir.tensor import Tensor
from uhost.ops._op import UnsupportedNodeError


@dataclass(frozen=True, slots=True)
class RefusedTensor:
    """A tensor that no operator of uhost can take: its type as text, and the reason."""

    name: str
    type: str
    reason: str

    is_constant = False


Declared: TypeAlias = Tensor | RefusedTensor
"""A tensor as a frontend read it."""


def _no_subgraphs(index: int) -> Graph:
    raise UnsupportedNodeError(f"there is no subgraph {index} here")


@dataclass(frozen=True, slots=True)
class Node:
    """One operator of a model file; a `SourceNode` once its tensors are known to be sound.

    `operator` is its name in the format, `place` says where it is in the file. With
    `from_uint8` its int8 tensors are uint8 in the file (`uhost.frontends._uint8`).
    `subgraph` returns another graph of the file; `declared_intermediates` are only described.
    `variables` are the states that the file's graphs share, `kept` all of the node's own graph.
    """

    index: int
    operator: str
    declared_inputs: tuple[Declared | None, ...]
    declared_outputs: tuple[Declared, ...]
    options: Any
    place: str
    from_uint8: bool = False
    subgraph: Callable[[int], Graph] = _no_subgraphs
    declared_intermediates: tuple[Declared | None, ...] = ()
    variables: Mapping[str, Tensor] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()

    @property
    def declared(self) -> tuple[Declared | None, ...]:
        """Inputs, then outputs."""
        return *self.declared_inputs, *self.declared_outputs

    @property
    def intermediates(self) -> tuple[Tensor | None, ...]:
        """The tensors that are never stored; None for one of a type that uhost does not have."""
        return tuple(t if isinstance(t, Tensor) else None for t in self.declared_intermediates)

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        """Input tensors; None where an optional one is absent."""
        return cast(tuple[Tensor | None, ...], self.declared_inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Output tensors."""
        return cast(tuple[Tensor, ...], self.declared_outputs)
