"""Runs an image built for this machine as a subprocess; RPC goes over its pipes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile

from uhost.config.board import Board
from uhost.errors import RunnerError
from uhost.runners._runner import Runner
from uhost.toolchain._toolchain import Image
from uhost.transport._transport import Transport
from uhost.transport.pipe import PipeTransport

# The firmware ends by itself at the end of its input, unless it is in an endless loop.
_EXIT_S = 2.0
_TAIL_BYTES = 4000


def command(image: Image) -> tuple[str, ...]:
    """Returns the command that runs `image`."""
    return (str(image.elf),)


class HostProcess:
    """The running firmware, as a transport; closing it ends the process.

    Reading and writing raise `RunnerError`, with the exit status and the end of the
    error output, when the process has died.
    """

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._program = argv[0]
        device_in, host_out = os.pipe()
        host_in, device_out = os.pipe()
        self._pipes = PipeTransport(host_in, host_out, when_lost=self._raise_death)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(
                argv, stdin=device_in, stdout=device_out, stderr=self._errors
            )
        except OSError as error:
            self._pipes.close()
            self._errors.close()
            raise RunnerError(
                f"the program cannot be started: {error.strerror}",
                where=self._program,
                fix="build it again, on this machine",
            ) from error
        finally:
            os.close(device_in)
            os.close(device_out)

    def open(self) -> None:
        """Readies the pipes."""
        self._pipes.open()

    def close(self) -> None:
        """Ends the process: politely by the end of its input, then by force."""
        self._pipes.close()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT_S)
        finally:
            # Also when the wait is interrupted: nothing may be left behind.
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            self._errors.close()

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes that the firmware sent."""
        return self._pipes.read(size, timeout_s)

    def write(self, data: bytes, timeout_s: float) -> None:
        """Sends `data` to the firmware."""
        self._pipes.write(data, timeout_s)

    def _raise_death(self) -> None:
        """Raises `RunnerError` that tells how the process ended."""
        try:
            status = self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            ended = "closed its pipes"
        else:
            ended = (
                f"was killed by {_signal_name(-status)}"
                if status < 0
                else (f"ended with exit status {status}")
            )
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _TAIL_BYTES))
        tail = self._errors.read().decode(errors="replace").strip()
        raise RunnerError(
            f"the firmware process {ended}" + (f":\n{tail}" if tail else ""),
            where=self._program,
            fix="run the program in a debugger, or build it with -fsanitize=address,undefined",
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class HostRunner:
    """Runs images for the board `host`."""

    name = "host"

    def supports(self, board: Board) -> str:
        """Returns "" for a board whose target is this machine."""
        if board.target.kind == "host":
            return ""
        return f"it runs images for this machine, not for {board.target.kind}"

    def start(self, image: Image, board: Board) -> Transport:
        """Returns the opened line to the started program."""
        process = HostProcess(command(image))
        try:
            process.open()
        except BaseException:
            process.close()
            raise
        return process


RUNNER: Runner = HostRunner()
