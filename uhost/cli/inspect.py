"""`uhost inspect`: what a model is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from uhost.cli._console import show
from uhost.cli._options import json_option, model_argument
from uhost.cli._work import loaded

if TYPE_CHECKING:
    from uhost.ir.graph import BoundOperator
    from uhost.ir.tensor import Tensor


@click.command()
@model_argument
@json_option
def command(model: str | None, as_json: bool) -> None:
    """Show MODEL's operators, shapes, MACs, weights and quantisation.

    A model with operators that uhost lacks is reported with all of them at once
    (exit code 3).

    Example: uhost inspect kws.tflite
    """
    from uhost.report.records import results_json

    [source] = loaded([model] if model else [])
    graph = source.graph
    rows = [_row(bound) for bound in graph.bound_operators()]
    inputs = [_port(graph.tensors[name]) for name in graph.inputs]
    outputs = [_port(graph.tensors[name]) for name in graph.outputs]
    constants = [t for t in graph.tensors.values() if t.is_constant]
    record = {
        "model": graph.name,
        "file_bytes": len(source.content),
        "inputs": inputs,
        "outputs": outputs,
        "operators": rows,
        "macs": sum(row["macs"] for row in rows),
        "weight_bytes": sum(t.size_bytes for t in constants),
        "largest_activation_bytes": max(
            (t.size_bytes for t in graph.tensors.values() if not t.is_constant), default=0
        ),
    }
    if as_json:
        click.echo(results_json([record]))
    else:
        _show(record)


def _row(bound: BoundOperator[Any]) -> dict[str, Any]:
    from uhost.ir.printer import print_attributes
    from uhost.ops._op import OPERATORS

    weights = [t for t in bound.inputs if t is not None and t.is_constant]
    return {
        "name": bound.name,
        "kind": bound.kind,
        "attributes": print_attributes(bound.attributes),
        "outputs": [_port(tensor) for tensor in bound.outputs],
        "macs": OPERATORS[bound.kind].macs(bound),
        "weight_bytes": sum(t.size_bytes for t in weights),
        "weight_scales": max(
            (len(t.quantization.scale) for t in weights if t.quantization is not None), default=0
        ),
    }


def _port(tensor: Tensor) -> dict[str, Any]:
    one_scale = tensor.quantization is not None and len(tensor.quantization.scale) == 1
    return {
        "name": tensor.name,
        "dtype": str(tensor.dtype),
        "shape": list(tensor.shape),
        "scale": tensor.scale if one_scale else None,
        "zero_point": tensor.zero_point if one_scale else None,
    }


def _text(port: dict[str, Any]) -> str:
    return f"{port['dtype']} {'x'.join(map(str, port['shape'])) or 'scalar'}"


def _quantization(port: dict[str, Any]) -> str:
    if port["scale"] is None:
        return "-"
    sign = "-" if port["zero_point"] >= 0 else "+"
    return f"{port['scale']:.6g} × (q {sign} {abs(port['zero_point'])})"


def _show(record: dict[str, Any]) -> None:
    from uhost.report.tables import table
    from uhost.report.units import count, kib

    show(
        f"{record['model']}: {len(record['operators'])} operators, "
        f"{count(record['macs'])} MACs, weights {kib(record['weight_bytes'])}, "
        f"largest activation {kib(record['largest_activation_bytes'])}\n"
    )
    ports = table("", "name", "type and shape", "real value")
    for what in ("inputs", "outputs"):
        for port in record[what]:
            ports.add_row(what[:-1], port["name"], _text(port), _quantization(port))
    numbers = ("MACs", "weights", "scales")
    operators = table("operator", "result", *numbers, "real value", right=numbers)
    for row in record["operators"]:
        port = row["outputs"][0]
        operators.add_row(
            row["name"],
            _text(port),
            count(row["macs"] or None),
            count(row["weight_bytes"] or None),
            count(row["weight_scales"] or None),
            _quantization(port),
        )
    show(ports, "", operators)


COMMAND = command
