"""`uhost monitor`: the log lines of a device, as they come."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uhost.cli._console import note
from uhost.cli._options import json_option

if TYPE_CHECKING:
    from uhost.errors import UhostError
    from uhost.transport._transport import Transport

_BAUD = 115200
_READ_BYTES = 4096
_GLANCE_S = 0.2


@click.command()
@click.option("--board", "-b", "name", metavar="BOARD", help="Finds its port and its baud rate.")
@click.option(
    "--port", default="", metavar="PORT", help="Serial port, or a URL such as socket://host:port."
)
@click.option("--baud", type=int, metavar="BAUD", help="Default: the board's, else 115200.")
@click.option(
    "--build",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="The build on the device: crashes are told with the function's name.",
)
@click.option("--for", "seconds", type=float, metavar="S", help="Stop after so many seconds.")
@json_option
def command(
    name: str | None,
    port: str,
    baud: int | None,
    folder: Path | None,
    seconds: float | None,
    as_json: bool,
) -> int:
    """Show what the firmware logs on a serial port, until Ctrl-C.

    It only listens; a program that runs models on the same port shows them itself. A crash
    report ends it, with exit code 6. With --json, one object a line.

    Example: uhost monitor --port /dev/ttyACM0
    """
    from uhost.config.board import load_board
    from uhost.errors import ConfigError
    from uhost.runners._ports import find_port
    from uhost.transport.serial import SerialTransport

    board = load_board(name) if name else None
    if board is not None:
        port = find_port(board, port)
        baud = baud or (board.console.baud if board.console else None)
    if not port:
        raise ConfigError("no port given", fix="add --port; `uhost ports` lists them")
    line = SerialTransport(port, baud or _BAUD)
    line.open()
    if not as_json:
        note(f"Listening on {port}; Ctrl-C ends it.")
    symbolize, limit_s = _symbolizer(folder), seconds if seconds else math.inf
    try:
        with _interrupt() as stop:
            for entry in entries(line, symbolize, limit_s, stop):
                if not isinstance(entry, str):
                    raise entry
                click.echo(_as_json(entry) if as_json else f"{time.strftime('%H:%M:%S')} {entry}")
    finally:
        line.close()
    if stop.is_set():
        click.echo("", err=True)
    return 0


@contextlib.contextmanager
def _interrupt() -> Iterator[threading.Event]:
    """Yields what Ctrl-C sets inside the block.

    An exception in its place could arise while a line is written out, which Python would
    then write once more when it ends.
    """
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def entries(
    line: Transport, symbolize: Callable[[int], str], seconds: float, stop: threading.Event
) -> Iterator[str | UhostError]:
    """Yields the log lines until `seconds` are over or `stop` is set.

    A crash report is the last thing.
    """
    from uhost.errors import DeadlineError
    from uhost.rpc import messages as m
    from uhost.rpc._fault import decode_fault
    from uhost.rpc.framing import FrameReader

    reader = FrameReader()
    deadline = time.monotonic() + seconds
    while (left_s := deadline - time.monotonic()) > 0 and not stop.is_set():
        try:
            received = line.read(_READ_BYTES, min(left_s, _GLANCE_S))
        except DeadlineError:
            continue
        for frame in reader.feed(received):
            if frame.type == m.LogNotice.CODE:
                yield frame.payload.decode(errors="replace")
            elif frame.type == m.FaultNotice.CODE:
                yield decode_fault(m.decode(m.FaultNotice, frame.payload), symbolize)
                return


def _symbolizer(folder: Path | None) -> Callable[[int], str]:
    """Returns what names the function at an address, in the image of a build folder."""
    if folder is None:
        return "0x{:08x}".format
    from uhost.errors import ConfigError
    from uhost.toolchain._build import ELF
    from uhost.toolchain._elf import read_program
    from uhost.toolchain._toolchain import Image

    if not (folder / ELF).is_file():
        raise ConfigError(
            f"'{folder}' is not a build: it holds no {ELF}", fix="give a folder of `uhost build`"
        )
    elf = folder / ELF
    return Image(elf, "", 0, 0, 0, dict(read_program(elf).symbols)).function_at


def _as_json(entry: str) -> str:
    import msgspec

    return msgspec.json.encode({"log": entry}).decode()


COMMAND = command
