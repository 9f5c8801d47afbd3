"""Runs images in QEMU's system emulation of a board's machine."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
import weakref
from dataclasses import dataclass
from typing import IO

from uhost.config.board import Board
from uhost.errors import ConfigError, DeviceFault, RunnerError
from uhost.runners._counter import find_function
from uhost.runners._qemu_counter import QemuCounter, counter_for
from uhost.runners._runner import RunCounts
from uhost.toolchain._programs import Program
from uhost.toolchain._toolchain import Image, Located
from uhost.transport.pipe import PipeTransport

PROGRAM = Program(
    name="qemu-system-arm",
    variable="UHOST_QEMU_ARM",
    install="apt-get install qemu-system-arm",
)
# In releases that split it off, the package is qemu-system-riscv.
PROGRAM_RISCV = Program(
    name="qemu-system-riscv32",
    variable="UHOST_QEMU_RISCV",
    install="apt-get install qemu-system-misc",
)
# How long a QEMU whose pipe has closed may take to end.
_EXIT_S = 5.0


def program_for(board: Board) -> Program:
    """Returns the QEMU that has the board's machine."""
    return PROGRAM_RISCV if board.target.kind == "riscv" else PROGRAM


def command(image: Image, board: Board) -> tuple[str, ...]:
    """Returns the arguments that run `image` on the board's machine, the program left out.

    The console is on standard input and output; other serial ports lead nowhere.
    """
    assert board.qemu is not None
    unused = ("-serial", "null") * board.qemu.serial
    return (
        *("-machine", board.qemu.machine),
        *board.qemu.options,
        *("-display", "none", "-monitor", "none", "-no-reboot"),
        *("-chardev", "stdio,id=console,signal=off", *unused, "-serial", "chardev:console"),
        *("-kernel", str(image.elf)),
    )


@dataclass(frozen=True, slots=True)
class QemuRunner:
    """Simulates the boards that QEMU has a machine for."""

    name: str = "qemu"

    def supports(self, board: Board) -> str:
        """Returns "" if it runs the board's images, else the reason it does not."""
        if board.qemu is None:
            return "QEMU has no machine for the board"
        return ""

    def locate(self) -> Located:
        """Returns the program for Arm; raises `ToolNotFoundError` with how to get it."""
        return PROGRAM.locate()

    def start(self, image: Image, board: Board) -> QemuTransport:
        """Returns an opened transport to the started image; raises `RunnerError`."""
        if reason := self.supports(board):
            raise ConfigError(
                f"the runner 'qemu' does not run '{board.name}': {reason}",
                fix="choose another runner with --on",
            )
        located = program_for(board).locate()
        counter, reason = counter_for(located.argv[0], image)
        options = counter.options if counter else ()
        argv = (*located.argv, *command(image, board), *options)
        return QemuTransport(argv, image, board, counter, reason)


class QemuTransport:
    """The line to a board simulated by a QEMU process, which ends with the line."""

    def __init__(
        self,
        argv: tuple[str, ...],
        image: Image,
        board: Board,
        counter: QemuCounter | None = None,
        why_uncounted: str = "",
    ) -> None:
        self._argv = argv
        self._counter = counter
        self.why_uncounted = why_uncounted
        """Why instructions cannot be counted; "" where they are."""
        self._image = image
        self._where = f"{board.name} in QEMU"
        device_in, host_out = os.pipe()
        host_in, device_out = os.pipe()
        self._line = PipeTransport(host_in, host_out, self._raise_reason)
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            # A session of its own: Ctrl-C in the terminal goes to uhost, which ends QEMU.
            self._process = subprocess.Popen(
                argv,
                stdin=device_in,
                stdout=device_out,
                stderr=self._messages,
                start_new_session=True,
            )
        except OSError as cause:
            self._line.close()
            self._messages.close()
            raise RunnerError(
                f"QEMU cannot be started: {cause.strerror}",
                where=argv[0],
                fix=f"install it again: {program_for(board).install}",
            ) from None
        finally:
            os.close(device_in)
            os.close(device_out)
        self._end = weakref.finalize(self, _end, self._process, self._messages)
        self._line.open()

    def open(self) -> None:
        """Does nothing: the line is open from the start."""

    def close(self) -> None:
        """Ends QEMU and closes the line."""
        self._line.close()
        self._end()
        if self._counter:
            self._counter.close()

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes as soon as any are there.

        Raises `DeadlineError` when none came in time, and `RunnerError` or `DeviceFault`
        when QEMU has ended.
        """
        return self._line.read(size, timeout_s)

    def write(self, data: bytes, timeout_s: float) -> None:
        """Writes all of `data`; raises as `read` does."""
        self._line.write(data, timeout_s)

    def watch(self, function: str) -> None:
        """Counts the next calls of the C function `function`; replaces an earlier watch.

        The device must not be computing. Does nothing where QEMU cannot count.
        """
        if self._counter:
            self._counter.watch(find_function(self._image, function))

    def counts(self) -> RunCounts | None:
        """Returns the counts of the last finished call; None before one, or without a counter."""
        return self._counter.counts() if self._counter else None

    def _raise_reason(self) -> None:
        """Raises what QEMU said as it ended: a core that locked up is the firmware's crash."""
        try:
            self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._messages.seek(0)
        said = self._messages.read().decode(errors="replace").strip()
        if lockup := re.search(r"Lockup: (.*)", said):
            counter = re.search(r"R15=([0-9a-f]{8})", said)
            pc = int(counter[1], 16) if counter else 0
            registers = re.findall(r"(?:R[0-9]{2}|XPSR)=[0-9a-f]{8}", said)
            raise DeviceFault(
                f"the firmware crashed: {lockup[1]}",
                where=f"pc 0x{pc:08x} in {self._image.function_at(pc)}, {' '.join(registers)}",
                fix="look at the function above; QEMU tells this, since the fault handler "
                "itself crashed",
            )
        raise RunnerError(
            f"QEMU ended with {_describe(self._process.returncode)}",
            where=f"{self._where}: {said or 'it said nothing'}",
            fix=f"run it by hand: {shlex.join(self._argv)}",
        )


def _describe(code: int) -> str:
    return f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"


def _end(process: subprocess.Popen[bytes], messages: IO[bytes]) -> None:
    """Kills QEMU, which has nothing to save, and collects it."""
    process.kill()
    process.wait()
    messages.close()


RUNNER = QemuRunner()
