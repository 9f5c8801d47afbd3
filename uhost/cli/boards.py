"""`uhost boards`: the boards uhost knows."""

from __future__ import annotations

import click

from uhost.cli._console import show
from uhost.cli._options import json_option


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the boards, with CPU, clock, memory, runners, and what each was run on.

    Example: uhost boards
    """
    from uhost.config.board import board_names, load_board
    from uhost.report.records import results_json
    from uhost.report.tables import table
    from uhost.report.units import frequency, kib

    boards = [load_board(name) for name in board_names()]
    rows = []
    for board in boards:
        sizes = {r.name: r.size_bytes for r in board.regions}
        rows.append(
            {
                "board": board.name,
                "description": board.description,
                "chip": board.chip,
                "cpu": board.target.cpu or board.target.kind,
                "features": list(board.target.features),
                "clock_hz": board.clock_hz,
                "flash_bytes": sizes.get(board.flash),
                "ram_bytes": sizes.get(board.ram),
                "runners": list(board.runners),
                "verified": list(board.verified),
            }
        )
    if as_json:
        click.echo(results_json(rows))
        return
    made = table(
        "board",
        "chip",
        "CPU",
        "clock",
        "flash",
        "RAM",
        "runners",
        "verified on",
        right=("clock", "flash", "RAM"),
    )
    for board, row in zip(boards, rows, strict=True):
        sizes = {r.name: r.size_bytes for r in board.regions}
        made.add_row(
            board.name,
            board.chip or "-",
            str(row["cpu"]),
            frequency(board.clock_hz) if board.clock_hz else "-",
            kib(sizes.get(board.flash)),
            kib(sizes.get(board.ram)),
            ", ".join(board.runners),
            ", ".join(board.verified) or "-",
        )
    show(made)


COMMAND = command
