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

    rows = []
    for kind in OPERATORS:
        formats = {name: sorted(importers) for name, importers in kind.importers.items()}
        kernels = {
            library: [stem for stem, _ in candidates(kind.name, library)]
            for library in library_names()
        }
        rows.append({"operator": kind.name, "formats": formats, "kernels": kernels})
    if as_json:
        click.echo(results_json(rows))
        return
    made = table("operator", "in .tflite", *(f"{name} kernels" for name in library_names()))
    for kind, row in zip(OPERATORS, rows, strict=True):
        found = row["kernels"]
        formats = row["formats"]
        assert isinstance(found, dict)
        assert isinstance(formats, dict)
        cells = [", ".join(found[name]) or ("view" if kind.is_view else "-") for name in found]
        made.add_row(kind.name, ", ".join(formats.get("tflite", [])) or "-", *cells)
    show(made)


COMMAND = command
