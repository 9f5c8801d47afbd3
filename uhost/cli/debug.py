"""`uhost debug`: a debugger holds a model's firmware, on a board or in QEMU."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uhost.cli._console import progress, show
from uhost.cli._options import (
    board_option,
    json_option,
    model_argument,
    project_option,
    toolchain_option,
)
from uhost.cli._settings import Configured, Settings
from uhost.cli._work import built as build_model
from uhost.cli._work import model_paths
from uhost.errors import ToolNotFoundError

if TYPE_CHECKING:
    from uhost.runners._gdb import DebuggedBoard

_READY_S = 30.0


@click.command(cls=Configured)
@model_argument
@board_option
@project_option
@click.option(
    "--on",
    metavar="SERVER",
    help="qemu, openocd or pyocd. Default: the first that reaches the board.",
)
@click.option("--gdb-port", default=3333, show_default=True, help="Where GDB connects.")
@click.option(
    "--console-port", default=0, metavar="PORT", help="QEMU: the console's. Default: a free one."
)
@click.option("--probe", default="", metavar="SERIAL", help="The debug probe's serial number.")
@click.option("--load", is_flag=True, help="GDB writes the image to the board's flash first.")
@click.option("--start", is_flag=True, help="Run GDB here, instead of printing its command.")
@toolchain_option
@json_option
def command(
    settings: Settings,
    project: Path | None,
    on: str | None,
    gdb_port: int,
    console_port: int,
    probe: str,
    load: bool,
    start: bool,
    as_json: bool,
) -> int:
    """Build MODEL, hold it for GDB before its first instruction, and print GDB's command.

    The server ends with Ctrl-C; with --start, when GDB ends. UHOST_GDB names another GDB.

    Example: uhost debug kws.tflite --board mps2_an500 --on qemu --start
    """
    from uhost.report.records import results_json
    from uhost.runners._gdb import (
        HOST,
        DebuggedBoard,
        DebugLine,
        choose_server,
        find_gdb,
        free_port,
        gdb_arguments,
    )

    with progress("Building"):
        built, _ = build_model(settings, project)
    board, image = built.compiled.board, built.image
    server = choose_server(board, on)
    if server.simulates:
        console_port = console_port or free_port()
    line = DebugLine(gdb_port, console_port, probe)
    try:
        gdb = find_gdb(board)
    except ToolNotFoundError:
        if start:
            raise
        gdb = "gdb-multiarch"
    argv = (gdb, *gdb_arguments(image, server, line, load=load))
    for number in (signal.SIGTERM, signal.SIGHUP):  # both are to end the server too
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    debugged = DebuggedBoard(server, image, board, line, _READY_S)
    try:
        console = f"socket://{HOST}:{console_port}" if server.simulates else ""
        if as_json:
            record = {
                "board": board.name,
                "server": list(debugged.argv),
                "gdb": list(argv),
                "console": console,
            }
            click.echo(results_json([record]))
        else:
            show(f"{server.name} holds {board.name} for GDB on {HOST}:{gdb_port}")
            if console:
                models = "".join(f" {path}" for path in model_paths(settings))
                show(
                    f"Talk to it: uhost run{models} --board {board.name} --on serial "
                    f"--port {console}"
                )
            if not start:
                show(f"Debug it:   {shlex.join(argv)}", "Ctrl-C ends the server.")
        sys.stdout.flush()
        return _run_gdb(argv) if start else _wait(debugged)
    finally:
        debugged.close()


def _wait(debugged: DebuggedBoard) -> int:
    try:
        debugged.wait()
    except KeyboardInterrupt:
        click.echo("", err=True)
    return 0


def _run_gdb(argv: tuple[str, ...]) -> int:
    """Returns GDB's exit code; Ctrl-C is GDB's alone while it runs."""
    process = subprocess.Popen(argv)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
        if process.poll() is None:
            process.kill()
            process.wait()


COMMAND = command
