"""Flashes boards through pyOCD, then talks to them over their serial port."""

from __future__ import annotations

from uhost.config.board import Board
from uhost.runners._probe import ProbeRunner
from uhost.runners._runner import HardwareRunner
from uhost.toolchain._programs import Program
from uhost.toolchain._toolchain import Image

PROGRAM = Program(name="pyocd", variable="UHOST_PYOCD", install="pip install pyocd")


def reason(board: Board) -> str:
    """Returns why pyOCD cannot reach the board, or ""."""
    return "" if board.pyocd else "the board file has no 'pyocd:'"


def flash_command(image: Image, board: Board, probe: str) -> tuple[str, ...]:
    """Returns the arguments that flash `image` and reset the board.

    Without `--no-wait`, pyOCD waits for ever for a probe to be plugged in.
    """
    chosen = ("--uid", probe) if probe else ()
    return ("flash", "--no-wait", *chosen, "--target", board.pyocd, str(image.elf))


RUNNER: HardwareRunner = ProbeRunner("pyocd", PROGRAM, reason, flash_command, verifies=False)
