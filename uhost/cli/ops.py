"""`uhost ops`: the operators uhost knows."""

from __future__ import annotations

import click

from uhost.cli._console import show
from uhost.cli._options import json_option


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the operators: types, the number of kernels per library, and whose results they give.

    The types are those of the examples by which every operator is tested. `--json` has the
    kernels by name, and the operators' names in model formats.

    Example: uhost ops
    """
    from uhost.kernels._kernel import candidates, library_names
    from uhost.ops._op import OPERATORS
    from uhost.report.operators import operators_table, supported_types
    from uhost.report.records import results_json

    libraries = library_names()
    supported = list(supported_types(libraries))
    if as_json:
        rows = [
            {
                "operator": kind.name,
                "formats": {form: sorted(names) for form, names in kind.importers.items()},
                "types": [t for one in supported if one.operator == kind.name for t in one.types],
                "kernels": {
                    one: [stem for stem, _ in candidates(kind.name, one)] for one in libraries
                },
                "support": [
                    {"types": one.types, "kernels": one.kernels, "reference": one.reference}
                    for one in supported
                    if one.operator == kind.name
                ],
            }
            for kind in OPERATORS
        ]
        click.echo(results_json(rows))
        return
    show(operators_table(supported, libraries))


COMMAND = command
