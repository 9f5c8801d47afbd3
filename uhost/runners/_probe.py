"""Debug probes: a program flashes the image through one, then RPC goes over the serial port."""

from __future__ import annotations

import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from uhost.config.board import Board
from uhost.errors import ConfigError, RunnerError, ToolNotFoundError
from uhost.runners._ports import find_port
from uhost.toolchain._programs import Program
from uhost.toolchain._toolchain import Image
from uhost.transport.serial import SerialTransport

FLASH_S = 300.0
"""The slowest probes write some 10 KiB a second."""
_TAIL_BYTES = 2000


@dataclass(frozen=True, slots=True)
class ProbeRunner:
    """A runner whose program flashes.

    `command` makes the program's arguments, it left out, from image, board and the probe's
    serial number ("" for the only one). `reason` says why a board cannot be reached, or "".
    `port` and `probe` choose the board among several.
    """

    name: str
    program: Program
    reason: Callable[[Board], str]
    command: Callable[[Image, Board, str], tuple[str, ...]]
    script: Callable[[Image], str] | None = None
    """The text of a file that the program wants; its name goes behind the last argument."""
    verifies: bool = True
    """The program reads back what it wrote."""
    port: str = ""
    probe: str = ""

    def at(self, port: str, probe: str) -> ProbeRunner:
        """Returns the runner for the board on a port, or with the probe of a serial number."""
        return replace(self, port=port, probe=probe)

    def supports(self, board: Board) -> str:
        """Returns "" if it runs the board's images, else the reason it does not."""
        if board.console is None:
            return "it flashes microcontrollers"
        return self.reason(board)

    def start(self, image: Image, board: Board) -> SerialTransport:
        """Returns the opened line to the flashed board; raises `RunnerError`.

        A missing program, and a port that is missing or in use, are found before flashing.
        """
        self._check(board)
        self._locate(image, board)
        assert board.console is not None
        line = SerialTransport(find_port(board, self.port, self.probe), board.console.baud)
        line.open()
        try:
            self.flash(image, board)
        except BaseException:
            line.close()
            raise
        return line

    def flash(self, image: Image, board: Board) -> str:
        """Writes `image` to the board's flash and resets it; returns what the program said."""
        self._check(board)
        path = self._locate(image, board)
        with tempfile.TemporaryDirectory(prefix="uhost-") as folder:
            argv = (path, *self.command(image, board, self.probe))
            if self.script is not None:
                file = Path(folder) / "commands.txt"
                file.write_text(self.script(image))
                argv = (*argv, str(file))
            return _run(self.name, argv)

    def _check(self, board: Board) -> None:
        if reason := self.supports(board):
            raise ConfigError(
                f"the runner '{self.name}' does not reach '{board.name}': {reason}",
                fix="choose another runner with --on",
            )

    def _locate(self, image: Image, board: Board) -> str:
        """Returns the program's path; an error says what would have been run."""
        try:
            return self.program.find()
        except ToolNotFoundError as error:
            argv = (self.program.name, *self.command(image, board, self.probe))
            raise type(error)(
                error.what,
                where=f"{error.where}; the command would be: {shlex.join(argv)}",
                fix=error.fix,
            ) from None


def _run(name: str, argv: tuple[str, ...]) -> str:
    """Returns what the program said; raises `RunnerError` with its end if it failed."""
    by_hand = f"check the probe's cable and the board's power; by hand: {shlex.join(argv)}"
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=FLASH_S,
            check=False,
            start_new_session=True,
        )
    except OSError as error:
        raise RunnerError(
            f"'{name}' cannot be started: {error.strerror}", where=argv[0], fix="install it again"
        ) from None
    except subprocess.TimeoutExpired as error:
        raise RunnerError(
            f"'{name}' did not end within {FLASH_S:g} s, and was stopped: the board may hold "
            "no working firmware",
            where=_tail(error.stdout),
            fix=by_hand,
        ) from None
    if done.returncode:
        code = done.returncode
        ended = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
        raise RunnerError(
            f"'{name}' failed with {ended}: the board may hold no working firmware",
            where=_tail(done.stdout),
            fix=by_hand,
        )
    return done.stdout.decode(errors="replace")


def _tail(output: bytes | None) -> str:
    said = (output or b"")[-_TAIL_BYTES:].decode(errors="replace").strip()
    return said or "it said nothing"
