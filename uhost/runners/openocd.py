"""Flashes boards through OpenOCD, then talks to them over their serial port."""

from __future__ import annotations

from uhost.config.board import Board
from uhost.errors import ConfigError
from uhost.runners._probe import ProbeRunner
from uhost.runners._runner import HardwareRunner
from uhost.toolchain._programs import Program
from uhost.toolchain._toolchain import Image

PROGRAM = Program(name="openocd", variable="UHOST_OPENOCD", install="apt-get install openocd")


def reason(board: Board) -> str:
    """Returns why OpenOCD cannot reach the board, or ""."""
    return "" if board.openocd else "the board file has no 'openocd:'"


def configuration(board: Board, probe: str) -> tuple[str, ...]:
    """Returns the arguments that choose the board's configuration and the probe.

    The probe's serial number goes behind the files, which choose the driver, and before
    the connection. `adapter serial` is what OpenOCD 0.12 and later call it.
    """
    files = tuple(argument for file in board.openocd for argument in ("-f", file))
    return (*files, *(("-c", f"adapter serial {word(probe)}") if probe else ()))


def flash_command(image: Image, board: Board, probe: str) -> tuple[str, ...]:
    """Returns the arguments that flash `image`, verify it, and start it. No port is opened."""
    return (
        *configuration(board, probe),
        *("-c", "gdb_port disabled", "-c", "tcl_port disabled", "-c", "telnet_port disabled"),
        *("-c", f"program {word(str(image.elf))} verify reset exit"),
    )


def word(text: str) -> str:
    """Returns `text` as one word of Tcl, in which nothing is replaced."""
    if any(character in text for character in "{}\\\n"):
        raise ConfigError(
            f"OpenOCD cannot be given '{text}': braces and backslashes mean something to it",
            fix="rename it, or build in another folder",
        )
    return f"{{{text}}}"


RUNNER: HardwareRunner = ProbeRunner("openocd", PROGRAM, reason, flash_command)
