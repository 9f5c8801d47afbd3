"""Runs images on a Renode platform: a whole chip with its buses and peripherals.

The scripts are those of `uhost.codegen.renode`, beside the image. The console is a
pseudo-terminal, raw, which opens no port; where the system has none, a TCP port with the
bytes as they are, which Renode opens on every interface.

Instructions: the device's cycle counter is part of the platform and counts virtual time,
one cycle an instruction, so `cycles` is what Renode can say of a function. Renode can count
the instructions of a machine (`executed_instructions`), but not those of one function
apart from the interrupts within it, so the transport does not claim to: its counts are null.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import tempfile
import tty
import weakref
from dataclasses import dataclass, replace
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.codegen.renode import SCRIPT, renode_files
from uhost.config.board import Board
from uhost.errors import ConfigError, RunnerError, ToolNotFoundError
from uhost.runners._renode_monitor import Monitor
from uhost.toolchain._programs import MisdirectedVariableError, Program
from uhost.toolchain._toolchain import Image, Located
from uhost.transport.pipe import PipeTransport

OLDEST = (1, 15)
GET = (
    f"install Renode {OLDEST[0]}.{OLDEST[1]} or later, from renode.io or your system's packages, "
    "and put 'renode' on PATH, or its path in UHOST_RENODE"
)
PROGRAM = Program(name="renode", variable="UHOST_RENODE", install=GET)
_ASK_S = 30.0
_STARTED = r"^uhost: started$"


def command(image: Image, board: Board, line: Path | int = Path("uart")) -> tuple[str, ...]:
    """Returns the arguments that run `image`, the program left out.

    `line` is where the console goes: the pseudo-terminal's path, or a TCP port.
    """
    assert board.renode is not None
    set_line, macro = (
        (f"set port {line}", "start_on_port")
        if isinstance(line, int)
        else (f'set pty "{line}"', "start_on_pty")
    )
    return (
        *("--disable-xwt", "--console", "--plain", "--hide-log"),
        *("-e", f"include {_path(image.elf.parent / SCRIPT)}"),
        *("-e", set_line),
        *("-e", f"runMacro ${macro}"),
    )


def _path(path: Path) -> str:
    """Returns a path as the Monitor reads it."""
    return "@" + str(path).replace(" ", "\\ ")


@dataclass(frozen=True, slots=True)
class RenodeRunner:
    """Simulates the boards that name a Renode platform; `start_s` is what a start may take."""

    name: str = "renode"
    start_s: float = 90.0

    def supports(self, board: Board) -> str:
        """Returns "" if it runs the board's images, else the reason it does not."""
        if board.renode is None:
            return "the board names no Renode platform"
        return ""

    def locate(self) -> Located:
        """Returns the program found; raises `ToolNotFoundError` with how to get it."""
        try:
            located = PROGRAM.locate()
        except MisdirectedVariableError:
            raise
        except ToolNotFoundError as error:
            raise ToolNotFoundError(error.what, error.where, GET) from None
        found = re.search(r"(\d+)\.(\d+)", located.version)
        if found and (int(found[1]), int(found[2])) < OLDEST:
            raise PROGRAM.unfit(located.argv, f"is Renode {found[0]}: too old", GET)
        return located

    def start(self, image: Image, board: Board) -> RenodeTransport:
        """Returns an opened transport to the started image; raises `RunnerError`."""
        if reason := self.supports(board):
            raise ConfigError(
                f"the runner 'renode' does not run '{board.name}': {reason}",
                fix="choose another runner with --on",
            )
        try:
            image = replace(image, elf=image.elf.absolute())  # Renode has folders of its own
            program = self.locate().argv
        except ToolNotFoundError as error:
            by_hand = shlex.join(("renode", *command(image, board)))
            raise type(error)(error.what, error.where, f"{error.fix}; then: {by_hand}") from None
        if not (image.elf.parent / SCRIPT).is_file():
            # An image that was not built from a model: there is no test of it to keep.
            Artifact(renode_files(board, "", ())).write(image.elf.parent)
        return RenodeTransport(program, image, board, self.start_s)


class RenodeTransport:
    """The line to a board simulated by a Renode process, which ends with the line."""

    def __init__(
        self, program: tuple[str, ...], image: Image, board: Board, start_s: float
    ) -> None:
        assert board.renode is not None
        self._cpu = board.renode.cpu
        folder = Path(tempfile.mkdtemp(prefix="uhost-renode-"))
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        line: Path | int = folder / "uart" if has_pty() else _free_port()
        log = folder / "renode.log"
        self._monitor: Monitor | None = None
        self._line: PipeTransport | None = None
        try:
            self._monitor = Monitor(
                (*program, "-e", f"logFile {_path(log)}", *command(image, board, line)),
                f"{board.name} in Renode",
                log,
            )
            self._monitor.await_line(_STARTED, start_s)
            fd = _open_pty(line) if isinstance(line, Path) else _connect(line)
            self._line = PipeTransport(fd, fd, self._monitor.raise_reason)
            self._line.open()
        except BaseException:
            self.close()
            raise

    def open(self) -> None:
        """Does nothing: the line is open from the start."""

    def close(self) -> None:
        """Closes the line, ends Renode and removes its files."""
        try:
            if self._line is not None:
                self._line.close()
        finally:
            try:
                if self._monitor is not None:
                    self._monitor.close()
            finally:
                self._remove()

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes as soon as any are there.

        Raises `DeadlineError` when none came in time, `RunnerError` when Renode has ended.
        """
        return self._opened().read(size, timeout_s)

    def write(self, data: bytes, timeout_s: float) -> None:
        """Writes all of `data`; raises as `read` does."""
        self._opened().write(data, timeout_s)

    def executed_instructions(self) -> int:
        """Returns the instructions the core has executed since reset, interrupts included."""
        assert self._monitor is not None
        answer = self._monitor.ask(
            f"{self._cpu} ExecutedInstructions", r"^0x([0-9A-Fa-f]{16})$", _ASK_S
        )
        return int(answer[1], 16)

    def _opened(self) -> PipeTransport:
        assert self._line is not None
        return self._line


def has_pty() -> bool:
    """Returns whether the system gives pseudo-terminals; a container may have none."""
    try:
        ends = os.openpty()
    except OSError:
        return False
    for end in ends:
        os.close(end)
    return True


def _open_pty(link: Path) -> int:
    """Returns the console's end of the pseudo-terminal, set to pass bytes as they are."""
    try:
        fd = os.open(link, os.O_RDWR | os.O_NOCTTY)
    except OSError as cause:
        raise RunnerError(
            f"the console's pseudo-terminal cannot be opened: {cause.strerror}",
            where=str(link),
            fix="check that /dev/pts is mounted",
        ) from None
    try:
        tty.setraw(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _connect(port: int) -> int:
    try:
        line = socket.create_connection(("127.0.0.1", port), timeout=10.0)
    except OSError as cause:
        raise RunnerError(
            f"the console's port cannot be reached: {cause.strerror or cause}",
            where=f"127.0.0.1:{port}",
            fix="run it again: another program may have taken the port",
        ) from None
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line.detach()


RUNNER = RenodeRunner()
