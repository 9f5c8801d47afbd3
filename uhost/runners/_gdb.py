"""GDB servers: QEMU, OpenOCD and pyOCD hold a board's core for a debugger.

The commands are pure functions. Servers listen on 127.0.0.1 alone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from uhost.config.board import Board
from uhost.errors import ConfigError, RunnerError, ToolNotFoundError
from uhost.runners import openocd, pyocd, qemu
from uhost.runners._process_group import end_group, exit_reason, has_ended
from uhost.toolchain._programs import MisdirectedVariableError, Program
from uhost.toolchain._toolchain import Image

HOST = "127.0.0.1"
_GLANCE_S = 0.05
_PATIENCE_S = 2.0
_TAIL_BYTES = 4000


@dataclass(frozen=True, slots=True)
class DebugLine:
    """Where a server listens: for GDB, and (QEMU alone) for the other end of the console.

    `probe` is the serial number of a debug probe, "" for the only one.
    """

    gdb_port: int
    console_port: int = 0
    probe: str = ""


@dataclass(frozen=True, slots=True)
class DebugServer:
    """A program that holds a board for GDB.

    `command` makes its arguments, the program left out; `reason` says why it does not
    reach a board, or "". `simulates` is true where the image is in the program's memory,
    and the console with it, so that nothing needs to be flashed.
    """

    name: str
    program: Callable[[Board], Program]
    reason: Callable[[Board], str]
    command: Callable[[Image, Board, DebugLine], tuple[str, ...]]
    simulates: bool = False


def qemu_command(image: Image, board: Board, line: DebugLine) -> tuple[str, ...]:
    """Returns the arguments of a QEMU that waits for GDB before the first instruction.

    The console is a TCP port; whoever connects to it may leave and come back.
    """
    assert board.qemu is not None
    console = f"socket,id=console,host={HOST},port={line.console_port},server=on,wait=off"
    return (
        *("-machine", board.qemu.machine),
        *board.qemu.options,
        *("-display", "none", "-monitor", "none", "-no-reboot"),
        *("-S", "-gdb", f"tcp:{HOST}:{line.gdb_port}"),
        *("-chardev", console, *("-serial", "null") * board.qemu.serial),
        *("-serial", "chardev:console"),
        *("-kernel", str(image.elf)),
    )


def openocd_command(image: Image, board: Board, line: DebugLine) -> tuple[str, ...]:
    """Returns the arguments of an OpenOCD that halts the board at its reset vector."""
    return (
        *openocd.configuration(board, line.probe),
        *("-c", f"bindto {HOST}", "-c", f"gdb_port {line.gdb_port}"),
        *("-c", "tcl_port disabled", "-c", "telnet_port disabled"),
        *("-c", "init", "-c", "reset halt"),
    )


def pyocd_command(image: Image, board: Board, line: DebugLine) -> tuple[str, ...]:
    """Returns the arguments of a pyOCD that halts the board.

    Without `--no-wait`, pyOCD waits for ever for a probe to be plugged in.
    """
    chosen = ("--uid", line.probe) if line.probe else ()
    return (
        *("gdbserver", "--no-wait", *chosen, "--target", board.pyocd),
        *("--port", str(line.gdb_port), "--connect", "halt", "--elf", str(image.elf)),
    )


SERVERS = {
    server.name: server
    for server in (
        DebugServer("qemu", qemu.program_for, qemu.RUNNER.supports, qemu_command, simulates=True),
        DebugServer("openocd", lambda board: openocd.PROGRAM, openocd.reason, openocd_command),
        DebugServer("pyocd", lambda board: pyocd.PROGRAM, pyocd.reason, pyocd_command),
    )
}

_GDB = Program(name="gdb-multiarch", variable="UHOST_GDB", install="apt-get install gdb-multiarch")
_OTHER_GDBS = {"cortex_m": "arm-none-eabi-gdb", "riscv": "riscv64-unknown-elf-gdb"}


def gdb_arguments(
    image: Image, server: DebugServer, line: DebugLine, *, load: bool
) -> tuple[str, ...]:
    """Returns GDB's arguments, the program left out; with `load` it writes the image first."""
    orders = [f"target remote {HOST}:{line.gdb_port}"]
    if load and not server.simulates:
        orders += ["monitor reset halt", "load", "monitor reset halt"]
    return (str(image.elf), *(word for order in orders for word in ("-ex", order)))


def find_gdb(board: Board) -> str:
    """Returns the path of a GDB that knows the board's core; raises `ToolNotFoundError`."""
    try:
        return _GDB.find()
    except MisdirectedVariableError:
        raise
    except ToolNotFoundError:
        other = _OTHER_GDBS.get(board.target.kind)
        if other is not None:
            with contextlib.suppress(ToolNotFoundError):
                return Program(other, _GDB.variable, _GDB.install).find()
        raise


def choose_server(board: Board, name: str | None) -> DebugServer:
    """Returns the server `name`, or the first that reaches the board; raises `ConfigError`."""
    if name is not None:
        if name not in SERVERS:
            raise ConfigError(
                f"there is no GDB server '{name}'", fix=f"known: {', '.join(SERVERS)}"
            )
        if reason := SERVERS[name].reason(board):
            raise ConfigError(
                f"'{name}' cannot debug the board '{board.name}': {reason}",
                fix="choose another with --on",
            )
        return SERVERS[name]
    reasons = []
    for server in SERVERS.values():
        reason = server.reason(board)
        if not reason:
            return server
        reasons.append(f"{server.name}: {reason}")
    fix = (
        "build it, and run firmware.elf in gdb itself"
        if board.target.kind == "host"
        else "add 'qemu:', 'openocd:' or 'pyocd:' to the board file"
    )
    raise ConfigError(
        f"no GDB server reaches the board '{board.name}'", where="; ".join(reasons), fix=fix
    )


def free_port() -> int:
    """Returns a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_taken(port: int) -> bool:
    """Returns whether somebody listens on `port`, without a connection to them."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return True
            raise ConfigError(
                f"the port {port} cannot be used: {error.strerror}",
                where="--gdb-port or --console-port",
                fix="choose one from 1024 to 65535",
            ) from None
    return False


class DebuggedBoard:
    """A running GDB server; closing it ends the server."""

    def __init__(
        self, server: DebugServer, image: Image, board: Board, line: DebugLine, ready_s: float
    ) -> None:
        """Returns when GDB can connect; raises `RunnerError` when it cannot in `ready_s`."""
        arguments = server.command(image, board, line)
        program = server.program(board)
        try:
            path = program.find()
        except ToolNotFoundError as error:
            argv = (program.name, *arguments)
            raise type(error)(
                error.what,
                where=f"{error.where}; the command would be: {shlex.join(argv)}",
                fix=error.fix,
            ) from None
        for port, option in ((line.gdb_port, "--gdb-port"), (line.console_port, "--console-port")):
            if port and is_taken(port):
                raise ConfigError(
                    f"the port {port} is taken by another program",
                    where=option,
                    fix=f"end that program, or choose another port with {option}",
                )
        self._name = server.name
        self.argv = (path, *arguments)
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            # A session of its own: Ctrl-C in the terminal is GDB's.
            self._process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=self._messages,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as cause:
            self._messages.close()
            raise RunnerError(
                f"'{server.name}' cannot be started: {cause.strerror}",
                where=path,
                fix=f"install it again: {program.install}",
            ) from None
        self._end = weakref.finalize(self, _end, self._process, self._messages)
        try:
            self._await_port(line.gdb_port, ready_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the server."""
        self._end()

    def wait(self) -> None:
        """Returns when the server has ended well; raises `RunnerError` when it failed."""
        while not has_ended(self._process):
            time.sleep(_GLANCE_S)
        if exit_reason(self._process) != "exit code 0":
            raise self._failed(f"ended with {exit_reason(self._process)}")

    def _await_port(self, port: int, ready_s: float) -> None:
        deadline = time.monotonic() + ready_s
        while not is_taken(port):
            if has_ended(self._process):
                raise self._failed(f"ended with {exit_reason(self._process)}")
            if time.monotonic() >= deadline:
                raise self._failed(f"did not listen for GDB within {ready_s:g} s")
            time.sleep(_GLANCE_S)

    def _failed(self, what: str) -> RunnerError:
        size = self._messages.seek(0, os.SEEK_END)
        self._messages.seek(max(0, size - _TAIL_BYTES))
        said = self._messages.read().decode(errors="replace").strip()
        return RunnerError(
            f"'{self._name}' {what}",
            where=said or "it said nothing",
            fix=f"check the probe's cable and the board's power; by hand: {shlex.join(self.argv)}",
        )


def _end(process: subprocess.Popen[bytes], messages: IO[bytes]) -> None:
    """Ends the server, which may have a probe to let go of."""
    try:
        end_group(process, _PATIENCE_S)
    finally:
        messages.close()
