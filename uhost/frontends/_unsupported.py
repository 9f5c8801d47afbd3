"""The error that names every operator of a model that uhost cannot compile, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from uhost.errors import FileOperator, UnsupportedOperatorError
from uhost.frontends._node import Declared, Node, RefusedTensor
from uhost.ir.dtype import DType

_NAME_LIMIT = 60

_NEVER: Mapping[str, str] = MappingProxyType(
    {
        "CONV_3D": "uhost has no convolutions over volumes, and no interpreter for "
        "microcontrollers has",
        "CUSTOM:ethos-u": "a program for an Arm Ethos-U, not the model it was made of: give uhost "
        "the file that Vela was given",
    }
)
"""Operator → why uhost will not take it."""


def why_absent(operator: str) -> str:
    """Returns the reason for an operator that no file of `uhost/ops` imports."""
    return _NEVER.get(operator, "there is no such operator in uhost")


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A node that cannot be taken, and why."""

    node: Node
    reason: str


def unsupported_operators(
    name: str, nodes: Sequence[Node], unsupported: Sequence[Unsupported]
) -> UnsupportedOperatorError:
    counts = Counter(entry.node.operator for entry in unsupported)
    groups: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for entry in unsupported:
        groups[entry.node.operator, entry.reason].append(entry.node)
    summary = ", ".join(f"{count} × {operator}" for operator, count in counts.most_common())
    lines = [f"uhost cannot compile {len(unsupported)} of {len(nodes)} operators: {summary}"]
    for (operator, reason), refused in groups.items():
        lines.append(f"  {operator}: {reason}")
        for node in refused:
            outputs = ", ".join(_describe(tensor) for tensor in node.declared_outputs)
            lines.append(f"    operator {node.index} -> {outputs or 'nothing'}")
    return UnsupportedOperatorError(
        "\n".join(lines),
        where=f"model '{name}'",
        fix="`uhost ops` lists the operators, types and options that are supported",
        operators=_file_operators(nodes, unsupported),
    )


def _file_operators(
    nodes: Sequence[Node], unsupported: Sequence[Unsupported]
) -> tuple[FileOperator, ...]:
    reasons = {entry.node.index: entry.reason for entry in unsupported}
    return tuple(
        FileOperator(
            node.index,
            node.operator,
            tuple(_type_of(tensor) for tensor in node.declared_outputs),
            reasons.get(node.index, ""),
        )
        for node in nodes
    )


def _describe(tensor: Declared) -> str:
    name = tensor.name
    if len(name) > _NAME_LIMIT:
        name = f"{name[: _NAME_LIMIT // 2]}…{name[-_NAME_LIMIT // 2 :]}"
    return f"'{name}' {_type_of(tensor)}"


def _type_of(tensor: Declared) -> str:
    if isinstance(tensor, RefusedTensor):
        return tensor.type
    return type_text(tensor.shape, tensor.dtype)


def type_text(shape: Sequence[int], dtype: DType) -> str:
    return f"{dtype}[{'x'.join(map(str, shape))}]"
