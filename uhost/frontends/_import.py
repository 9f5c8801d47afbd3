"""From the nodes of a model file to a graph of known operators: the same for every format.

A frontend reads its file into `Node`s and `Declared` tensors; this file finds the
importer of each node, checks the result, and reports all unsupported nodes at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from uhost.errors import (
    InternalError,
    MalformedModelError,
    ModelError,
    UnsupportedOperatorError,
    VerifyError,
)
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Tensor
from uhost.ops._op import OPERATORS, Imported, Importer, OperatorKind, UnsupportedNodeError

ACTIVATION_LIMIT_BYTES = 2**31
_NAME_LIMIT = 60


@dataclass(frozen=True, slots=True)
class RefusedTensor:
    """A tensor that no operator of uhost can take: its type as text, and the reason."""

    name: str
    type: str
    reason: str

    is_constant = False


Declared: TypeAlias = Tensor | RefusedTensor
"""A tensor as a frontend read it."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operator of a model file; a `SourceNode` once its tensors are known to be sound.

    `operator` is its name in the format, `place` says where it is in the file.
    """

    index: int
    operator: str
    declared_inputs: tuple[Declared | None, ...]
    declared_outputs: tuple[Declared, ...]
    options: Any
    place: str

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        """Input tensors; None where an optional one is absent."""
        return cast(tuple[Tensor | None, ...], self.declared_inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Output tensors."""
        return cast(tuple[Tensor, ...], self.declared_outputs)


@dataclass(frozen=True, slots=True)
class _Unsupported:
    """A node that cannot be taken, and why."""

    node: Node
    reason: str

    def __str__(self) -> str:
        outputs = ", ".join(
            f"'{_short(tensor.name)}' {_type_text(tensor)}" for tensor in self.node.declared_outputs
        )
        return f"operator {self.node.index}: {outputs or 'no outputs'}"


def fresh_name(name: str, index: int, taken: AbstractSet[str]) -> str:
    """Returns `name`, or the nearest name that is neither empty nor in `taken`."""
    base = name or f"tensor_{index}"
    if base not in taken:
        return base
    numbered, suffix = f"{base}_{index}", 0
    while numbered in taken:
        suffix += 1
        numbered = f"{base}_{index}_{suffix}"
    return numbered


def import_nodes(
    name: str,
    form: str,
    nodes: Sequence[Node],
    inputs: Sequence[Declared],
    outputs: Sequence[Declared],
    dynamic: Mapping[str, tuple[int, ...]],
) -> Graph:
    """Returns the verified graph of `nodes`, a model of the format `form`.

    `dynamic` gives the shape, -1 where open, of each tensor the file leaves open beyond
    the batch. Raises `UnsupportedOperatorError` with all unsupported nodes at once, and
    `MalformedModelError` where the file contradicts itself.
    """
    for tensor in inputs:
        if tensor.name in dynamic:
            raise _dynamic_shape(tensor.name, dynamic[tensor.name], name)
    kinds = _kinds_of(form)
    graph = _GraphUnderWay(name, inputs, dynamic)
    unsupported: list[_Unsupported] = []
    for node in nodes:
        graph.check_order(node)
        try:
            graph.add(node, *_kind_of(node, kinds))
        except UnsupportedNodeError as error:
            unsupported.append(_Unsupported(node, str(error)))
    if unsupported:
        raise _report(name, len(nodes), unsupported)
    return graph.finish(inputs, outputs)


_Kinds: TypeAlias = Mapping[str, tuple[OperatorKind[Any], Importer]]


def _kinds_of(form: str) -> _Kinds:
    """Returns name in the format → the operator that takes it, and its importer."""
    kinds: dict[str, tuple[OperatorKind[Any], Importer]] = {}
    for kind in OPERATORS:
        for source_name, importer in kind.importers.get(form, {}).items():
            if source_name in kinds:
                raise InternalError(
                    f"'{kinds[source_name][0].name}' and '{kind.name}' both import {source_name}",
                    where=f"format {form}",
                )
            kinds[source_name] = kind, importer
    return kinds


def _kind_of(node: Node, kinds: _Kinds) -> tuple[OperatorKind[Any], Importer]:
    """Returns the operator for a node; raises `UnsupportedNodeError` where there is none."""
    if node.operator not in kinds:
        raise UnsupportedNodeError("there is no such operator in uhost")
    for tensor in (*node.declared_inputs, *node.declared_outputs):
        if isinstance(tensor, RefusedTensor):
            raise UnsupportedNodeError(f"tensor '{_short(tensor.name)}' {tensor.reason}")
    return kinds[node.operator]


class _GraphUnderWay:
    """The operators and tensors of a graph so far, and the names that are made already."""

    def __init__(
        self, name: str, inputs: Sequence[Declared], dynamic: Mapping[str, tuple[int, ...]]
    ) -> None:
        self._name = name
        self._dynamic = dynamic
        self._tensors: dict[str, Tensor] = {}
        self._operators: list[Operator] = []
        self._made = set[str]()
        for tensor in inputs:
            if tensor.is_constant:
                raise self._malformed(f"the model input '{tensor.name}' is a constant")
            if tensor.name in self._made:
                raise self._malformed(f"the model input '{tensor.name}' is listed twice")
            self._made.add(tensor.name)

    def check_order(self, node: Node) -> None:
        """Raises `MalformedModelError` unless the node reads made tensors and makes new ones."""
        for tensor in node.declared_inputs:
            if tensor is None or tensor.is_constant or tensor.name in self._made:
                continue
            if isinstance(tensor, RefusedTensor):
                continue  # such as state, which is read before anybody writes it
            raise self._malformed(
                f"tensor '{tensor.name}' is read before anything writes it", node.place
            )
        for tensor in node.declared_outputs:
            if tensor.is_constant:
                raise self._malformed(f"the constant '{tensor.name}' is written", node.place)
            if tensor.name in self._made:
                raise self._malformed(f"tensor '{tensor.name}' is written twice", node.place)
            self._made.add(tensor.name)

    def add(self, node: Node, kind: OperatorKind[Any], importer: Importer) -> None:
        """Adds the operator for a node; raises `UnsupportedNodeError` where it is not taken."""
        with _contradictions(node):
            imported = importer(node)
        inputs = tuple(self._keep(tensor) for tensor in imported.inputs)
        outputs = tuple(self._keep(tensor) for tensor in node.outputs)
        name = f"{kind.name}_{node.index}"
        operator = Operator(name, kind.name, inputs, outputs, imported.attributes)
        self._check_inferred(node, kind, operator)
        self._operators.append(operator)

    def _check_inferred(self, node: Node, kind: OperatorKind[Any], operator: Operator) -> None:
        bound = Graph(self._name, self._tensors, (), (), ()).bind(operator)
        with _contradictions(node):
            inferred = tuple(kind.infer(bound))
        if len(inferred) != len(node.outputs):
            raise self._malformed(
                f"{node.operator} has {len(node.outputs)} outputs, not {len(inferred)}", node.place
            )
        for tensor, (shape, dtype) in zip(node.outputs, inferred, strict=True):
            if tensor.dtype is not dtype or tensor.shape != tuple(shape):
                if tensor.name in self._dynamic:
                    raise _dynamic_shape(tensor.name, self._dynamic[tensor.name], self._name)
                raise self._malformed(
                    f"tensor '{tensor.name}' is declared {tensor.dtype}{list(tensor.shape)}, "
                    f"{node.operator} makes {dtype}{list(shape)} of its inputs",
                    node.place,
                )

    def _keep(self, tensor: Tensor | None) -> str:
        """Returns the name under which the graph holds `tensor`; "" for an absent one."""
        if tensor is None:
            return ""
        if tensor.is_constant and tensor.elements == 0:
            raise UnsupportedNodeError(f"tensor '{_short(tensor.name)}' has no elements")
        held = self._tensors.setdefault(tensor.name, tensor)
        if held is tensor:
            return tensor.name
        return self._keep(replace(tensor, name=fresh_name(tensor.name, len(self._tensors), self._tensors.keys())))

    def finish(self, inputs: Sequence[Declared], outputs: Sequence[Declared]) -> Graph:
        ...
