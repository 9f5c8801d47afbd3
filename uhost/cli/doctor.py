"""`uhost doctor`: which outside tools are there."""

from __future__ import annotations

from dataclasses import asdict

import click

from uhost.cli._console import show
from uhost.cli._options import json_option


@click.command()
@json_option
def command(as_json: bool) -> int:
    """Say which compilers and simulators were found, where, and how to get what is missing.

    Exit code 5 when nothing can build for a board, or a variable is wrong.

    Example: uhost doctor
    """
    from uhost.report.doctor import BUILDERS, diagnose, verdict
    from uhost.report.records import results_json
    from uhost.report.tables import table

    findings = diagnose()
    usable = any(f.status == "found" for f in findings if f.tool in BUILDERS)
    code = 0 if usable and all(f.status != "misdirected" for f in findings) else 5
    if as_json:
        click.echo(results_json([asdict(finding) for finding in findings]))
        return code
    made = table("tool", "what for", "status", "where", "version")
    for finding in findings:
        made.add_row(
            finding.tool, finding.purpose, finding.status, finding.where, finding.version or "-"
        )
    show(made, "")
    for finding in findings:
        if finding.problem:
            show(f"{finding.tool}: {finding.problem}", f"  fix: {finding.fix}")
    show(verdict(findings))
    return code


COMMAND = command
