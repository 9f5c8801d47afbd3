"""`uhost boards`: the boards uhost knows."""

from __future__ import annotations

import click

from uhost.cli._console import show
from uhost.cli._options import json_option


@click.command()
@click.option("--markdown", is_flag=True, help="Print the page docs/boards.md: all facts.")
@json_option
def command(as_json: bool, markdown: bool) -> None:
    """List the boards, with CPU, clock, memory, and the runners each runs on.

    A runner in brackets should run the board, but has not been tried.

    Example: uhost boards
    """
    from uhost.config.board import board_names, load_board
    from uhost.report.boards_page import boards_page, runs_on
    from uhost.report.records import results_json
    from uhost.report.tables import table
    from uhost.report.units import frequency, kib

    boards = [load_board(name) for name in board_names()]
    if markdown:
        click.echo(boards_page(boards), nl=False)
        return
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
        "board", "CPU", "clock", "flash", "RAM", "runs on", right=("clock", "flash", "RAM")
    )
    for board, row in zip(boards, rows, strict=True):
        sizes = {r.name: r.size_bytes for r in board.regions}
        made.add_row(
            board.name,
            str(row["cpu"]),
            frequency(board.clock_hz) if board.clock_hz else "-",
            kib(sizes.get(board.flash)),
            kib(sizes.get(board.ram)),
            runs_on(board),
        )
    show(made)


COMMAND = command
