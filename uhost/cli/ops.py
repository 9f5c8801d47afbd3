"""`uhost ops`: the operators uhost knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from uhost.cli._console import show
from uhost.cli._options import json_option

if TYPE_CHECKING:
    from uhost.ops._op import OperatorKind


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the operators, their names in model formats, types, and kernels per library.

    The types are those of the examples by which every operator is tested.

    Example: uhost ops
    """
    from uhost.kernels._kernel import candidates, library_names
    from uhost.ops._op import OPERATORS
    from uhost.report.records import results_json
    from uhost.report.tables import table

    libraries = library_names()
    formats = {k.name: {f: sorted(names) for f, names in k.importers.items()} for k in OPERATORS}
    kernels = {
        k.name: {one: [stem for stem, _ in candidates(k.name, one)] for one in libraries}
        for k in OPERATORS
    }
    if as_json:
        rows = [
            {
                "operator": kind.name,
                "formats": formats[kind.name],
                "types": _types(kind),
                "kernels": kernels[kind.name],
            }
            for kind in OPERATORS
        ]
        click.echo(results_json(rows))
        return
    made = table("operator", "in .tflite", "types", *(f"{name} kernels" for name in libraries))
    for kind in OPERATORS:
        found = kernels[kind.name]
        cells = [", ".join(found[one]) or ("view" if kind.is_view else "-") for one in libraries]
        names = ", ".join(formats[kind.name].get("tflite", [])) or "-"
        made.add_row(kind.name, names, ", ".join(_types(kind)), *cells)
    show(made)


def _types(kind: OperatorKind[Any]) -> list[str]:
    """Returns the types of first input and output of the operator's examples."""
    pairs = set()
    for example in kind.examples():
        bound = next(b for b in example.graph.bound_operators() if b.kind == kind.name)
        pairs.add((str(bound.input(0).dtype), str(bound.outputs[0].dtype)))
    return [one if one == two else f"{one} to {two}" for one, two in sorted(pairs)]


COMMAND = command
