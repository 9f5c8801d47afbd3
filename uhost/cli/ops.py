"""`uhost ops`: the operators uhost knows."""

from __future__ import annotations

import click

from uhost.cli._console import show
from uhost.cli._options import json_option


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the operators, their names in model formats, and the kernel libraries that have them.

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
        rows = [{"operator": n, "formats": formats[n], "kernels": kernels[n]} for n in formats]
        click.echo(results_json(rows))
        return
    made = table("operator", "in .tflite", *(f"{name} kernels" for name in libraries))
    for kind in OPERATORS:
        found = kernels[kind.name]
        cells = [", ".join(found[one]) or ("view" if kind.is_view else "-") for one in libraries]
        made.add_row(kind.name, ", ".join(formats[kind.name].get("tflite", [])) or "-", *cells)
    show(made)


COMMAND = command
