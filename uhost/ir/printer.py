"""Graphs as text: one line per operator, stable, readable in a diff."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from uhost.ir.graph import Attributes, Graph

_LONGEST_NAME = 48


def print_attributes(attributes: Attributes) -> str:
    """Returns `name=value` pairs in declaration order."""
    if not is_dataclass(attributes):
        return ""
    return ", ".join(f"{f.name}={getattr(attributes, f.name)}" for f in fields(attributes))


def print_graph(graph: Graph) -> str:
    """Returns the graph as text."""

    def value(name: str) -> str:
        return f"%{name}: {graph.tensors[name]}" if name else "-"

    lines = [f"graph {graph.name} {{"]
    lines += [f"  input  {value(name)}" for name in graph.inputs]
    for operator in graph.operators:
        arguments = ", ".join(
            f"@{name}" if name and graph.tensors[name].is_constant else f"%{name}" if name else "-"
            for name in operator.inputs
        )
        results = ", ".join(value(name) for name in operator.outputs)
        lines.append(
            f"  {results} = {operator.kind}({arguments}) [{print_attributes(operator.attributes)}]"
        )
    lines += [f"  output %{name}" for name in graph.outputs]
    return "\n".join([*lines, "}"]) + "\n"


def short_name(name: str) -> str:
    """Returns a tensor's name without the fused names after ';', and its end where it is long."""
    first = name.partition(";")[0]
    return first if len(first) <= _LONGEST_NAME else f"…{first[-_LONGEST_NAME:]}"
