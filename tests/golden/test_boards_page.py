"""docs/boards.md is what `uhost boards --markdown` prints, and tells all there is."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from click.testing import CliRunner

from uhost.cli.boards import COMMAND
from uhost.config.board import board_names, chip_names, load_board
from uhost.report.boards_page import runs_on

PAGE = Path(__file__).resolve().parents[2] / "docs" / "boards.md"


def test_the_page_is_current() -> None:
    printed = CliRunner().invoke(COMMAND, ["--markdown"], catch_exceptions=False).stdout
    assert PAGE.read_text() == printed, "run `uhost boards --markdown > docs/boards.md`"


def test_the_page_has_every_board_with_what_it_was_run_on() -> None:
    lines = PAGE.read_text().splitlines()
    for name in board_names():
        board = load_board(name)
        if board.console is None:
            assert any(line.startswith(f"`{name}`: ") for line in lines)
            continue
        (row,) = (line for line in lines if line.startswith(f"| [`{name}`](#{name})"))
        assert row.endswith(f" | {runs_on(board)} |")
        assert f"## {name}" in lines
    assert "hardware" not in {
        runner for name in board_names() for runner in load_board(name).verified
    }


def test_a_runner_that_was_not_tried_is_in_brackets() -> None:
    board = dataclasses.replace(load_board("mps2_an500"), verified=("qemu",))
    assert runs_on(board) == "(unicorn), qemu"


def test_a_chip_is_marked_at_the_board_its_name_stands_for() -> None:
    shown = CliRunner().invoke(COMMAND, [], catch_exceptions=False).stdout
    rows = {line.split()[0]: line.split()[1:3] for line in shown.splitlines() if " " in line}
    assert rows["stm32f746g_disco"] == ["stm32f746", "*"]
    assert rows["nucleo_f746zg"] == ["stm32f746", "cortex-m7"]
    assert rows["host"][0] == "-"
    for chip in chip_names():
        assert f"| {chip} |" in PAGE.read_text() or f"| {chip} * |" in PAGE.read_text()


def test_the_table_fits_a_terminal() -> None:
    shown = CliRunner().invoke(COMMAND, [], catch_exceptions=False).stdout
    for name in board_names():
        assert sum(line.startswith(f"{name} ") for line in shown.splitlines()) == 1, name
    assert max(len(line) for line in shown.splitlines()) <= 100
