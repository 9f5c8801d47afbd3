"""Flashes STM32 boards through st-flash, then talks to them over their serial port."""

from __future__ import annotations

from uhost.config.board import Board
from uhost.runners._probe import ProbeRunner
from uhost.runners._runner import HardwareRunner
from uhost.toolchain._programs import Program
from uhost.toolchain._toolchain import Image

PROGRAM = Program(
    name="st-flash", variable="UHOST_ST_FLASH", install="apt-get install stlink-tools"
)


def reason(board: Board) -> str:
    """Returns why st-flash cannot reach the board, or ""."""
    return "" if board.stlink else "the board file has no 'stlink: true'"


def flash_command(image: Image, board: Board, probe: str) -> tuple[str, ...]:
    """Returns the arguments that flash `image`, which st-flash reads back, and reset the board.

    The HEX file holds everything with its addresses; st-flash takes no ELF.
    """
    chosen = ("--serial", probe) if probe else ()
    file = str(image.elf.with_suffix(".hex"))
    return (*chosen, "--reset", "--format", "ihex", "write", file)


RUNNER: HardwareRunner = ProbeRunner("stlink", PROGRAM, reason, flash_command)
