"""`uhost boards`: the boards uhost knows."""

from __future__ import annotations

import click

from uhost.cli._console import show
from uhost.cli._options import json_option


@click.command()
@click.option("--markdown", is_flag=True, help="Print the page docs/boards.md: all facts.")
@json_option
def command(as_json: bool, markdown: bool) -> None:
    """List the boards, with chip, CPU, clock, memory, and the runners each runs on.

    The name of a chip stands for its board; where boards share one, for the one marked *.
    A runner in brackets should run the board, but has not been tried.

    Example: uhost boards
    """
    from uhost.config.board import board_names, default_boards, load_board
    from uhost.report.boards_page import boards_page, chips_of, runs_on
    from uhost.report.records import results_json
    from uhost.report.tables import table
    from uhost.report.units import frequency

    boards = [load_board(name) for name in board_names()]
    defaults = default_boards()
    if markdown:
        click.echo(boards_page(boards, defaults), nl=False)
        return
    rows = []
    for board in boards:
        sizes = {r.name: r.size_bytes for r in board.regions}
        rows.append(
            {
                "board": board.name,
                "description": board.description,
                "chip": board.chip,
                "default": defaults.get(board.chip) == board.name,
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
    chips = chips_of(boards, defaults)
    numbers = ("clock", "flash", "RAM")
    made = table("board", "chip", "CPU", *numbers, "runs on", right=numbers)
    for board, row in zip(boards, rows, strict=True):
        sizes = {r.name: r.size_bytes for r in board.regions}
        made.add_row(
            board.name,
            chips[board.name],
            str(row["cpu"]),
            frequency(board.clock_hz) if board.clock_hz else "-",
            _size(sizes.get(board.flash)),
            _size(sizes.get(board.ram)),
            runs_on(board),
        )
    show(
        made,
        "",
        "A chip's name stands for its board: where boards share one, for the one marked *.",
    )


def _size(size_bytes: int | None) -> str:
    """Returns a memory's size in a unit of which it has a whole number."""
    if size_bytes is None:
        return "-"
    kib = size_bytes // 1024
    return f"{kib // 1024} MiB" if kib % 1024 == 0 else f"{kib} KiB"


COMMAND = command
