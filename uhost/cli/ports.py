"""`uhost ports`: the serial ports of this machine."""

from __future__ import annotations

from dataclasses import asdict

import click

from uhost.cli._console import show
from uhost.cli._options import json_option


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the serial ports with their USB ids, and the boards that may be behind them.

    A USB id often belongs to a debug probe that several boards carry: all are named.

    Example: uhost ports
    """
    from uhost.report.records import results_json
    from uhost.report.tables import table
    from uhost.runners._ports import boards_by_usb_id, ports

    known = boards_by_usb_id()
    rows = [{**asdict(port), "boards": known.get(port.usb_id, [])} for port in ports()]
    if as_json:
        click.echo(results_json(rows))
        return
    if not rows:
        show("No serial port was found.")
        return
    made = table("port", "USB id", "serial number", "description", "may be")
    for row in rows:
        texts = (row["device"], row["usb_id"], row["serial_number"], row["description"])
        made.add_row(*(str(text) or "-" for text in texts), ", ".join(row["boards"]) or "-")
    show(made)


COMMAND = command
