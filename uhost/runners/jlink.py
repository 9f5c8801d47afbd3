"""Flashes boards through SEGGER's J-Link Commander, then talks to them over their serial port."""

from __future__ import annotations

from uhost.config.board import Board
from uhost.errors import ConfigError
from uhost.runners._probe import ProbeRunner
from uhost.runners._runner import HardwareRunner
from uhost.toolchain._programs import Program
from uhost.toolchain._toolchain import Image

PROGRAM = Program(
    name="JLinkExe",
    variable="UHOST_JLINK",
    install="apt install ./JLink_Linux_x86_64.deb",  # from SEGGER, after its licence
)
SPEED_KHZ = 4000


def reason(board: Board) -> str:
    """Returns why J-Link Commander cannot reach the board, or ""."""
    return "" if board.jlink else "the board file has no 'jlink:'"


def flash_command(image: Image, board: Board, probe: str) -> tuple[str, ...]:
    """Returns the arguments that connect and run a command file, whose name comes behind them.

    J-Link Commander asks, in a window, what it is not told; `-NoGui` makes it fail instead.
    """
    chosen = ("-USB", probe) if probe else ()
    return (
        *chosen,
        *("-Device", board.jlink, "-If", "SWD", "-Speed", str(SPEED_KHZ), "-AutoConnect", "1"),
        *("-NoGui", "1", "-ExitOnError", "1", "-CommandFile"),
    )


def commands(image: Image) -> str:
    """Returns the command file: writes the image, which J-Link verifies, resets and starts it."""
    file = image.elf.with_suffix(".hex")
    if any(character in str(file) for character in '"\n'):
        raise ConfigError(
            f"J-Link Commander cannot be given '{file}'", fix="build in another folder"
        )
    return f'LoadFile "{file}"\nr\ng\nexit\n'


RUNNER: HardwareRunner = ProbeRunner("jlink", PROGRAM, reason, flash_command, commands)
