"""`uhost flash`: a model's firmware goes onto a board."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
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
from uhost.errors import ConfigError

if TYPE_CHECKING:
    from uhost.config.board import Board
    from uhost.flash._flasher import Flashed, FlashRequest
    from uhost.toolchain._toolchain import Image


@click.command(cls=Configured)
@model_argument
@board_option
@project_option
@click.option(
    "--port",
    default="",
    metavar="PORT",
    help="The serial port of the chip's ROM loader, or the folder of its drive (UF2).",
)
@click.option(
    "--on",
    metavar="RUNNER",
    help="Flash through a debug probe: openocd, pyocd, stlink, jlink. Default: the ROM loader.",
)
@click.option("--probe", default="", metavar="SERIAL", help="The debug probe's serial number.")
@click.option("--baud", default=115200, show_default=True, help="Speed of the ROM loader's line.")
@click.option(
    "--reset-line",
    default="",
    metavar="LINE",
    help="What the reset pin is wired to: dtr or rts; !dtr or !rts where an inverter is between.",
)
@click.option(
    "--boot-line",
    default="",
    metavar="LINE",
    help="What the boot pin is wired to. An asserted line is low: wired straight, BOOT0 is !rts.",
)
@click.option("--verify/--no-verify", default=True, help="Read everything back (ROM loader).")
@click.option(
    "--start/--no-start", default=True, help="Start the firmware afterwards (ROM loader)."
)
@toolchain_option
@json_option
def command(
    settings: Settings,
    project: Path | None,
    port: str,
    on: str | None,
    probe: str,
    baud: int,
    reset_line: str,
    boot_line: str,
    verify: bool,
    start: bool,
    as_json: bool,
) -> None:
    """Build MODEL for a board and write it to its flash; MODEL may be a build's folder.

    By the loader in the chip's ROM: for STM32 over a UART (AN3155), started with the boot
    pin set, by hand or by --reset-line and --boot-line; for the RP2040 by copying a UF2
    file to its drive. With --on, through a debug probe.

    Example: uhost flash kws.tflite --board b_u585i_iot02a --port /dev/ttyACM0
    """
    from uhost.flash._flasher import FlashRequest, Wiring
    from uhost.report.records import results_json

    request = FlashRequest(port, baud, Wiring(reset_line, boot_line), verify, start)
    with progress("Building"):
        built, _ = build_model(settings, project)
    target = built.compiled.board
    started_s = time.monotonic()
    if on is not None:
        done = _through_probe(built.image, target, on, probe)
    else:
        done = _through_loader(built.image, target, request)
    seconds = time.monotonic() - started_s
    if as_json:
        record = {"board": target.name, "digest": built.compiled.digest, **asdict(done)}
        click.echo(results_json([{**record, "seconds": round(seconds, 3)}]))
        return
    show(*_told(done, target.name, seconds))
    if done.started:
        models = "".join(f" {path}" for path in model_paths(settings))
        shared = target.bootloader is not None and target.bootloader.console and on is None
        where = f" --port {done.port}" if shared else ""
        show(f"Talk to it: uhost run{models} --board {target.name} --on serial{where}")


def _through_probe(image: Image, board: Board, on: str, probe: str) -> Flashed:
    from uhost.flash._flasher import Flashed
    from uhost.runners._runner import RUNNERS, FlashingRunner

    runner = RUNNERS[on]
    if not isinstance(runner, FlashingRunner):
        flashing = [one.name for one in RUNNERS if isinstance(one, FlashingRunner)]
        raise ConfigError(f"the runner '{on}' does not flash", fix=f"use {', '.join(flashing)}")
    with progress(f"Flashing with {on}"):
        runner.at("", probe).flash(image, board)
    return Flashed(probe, on, image.flash_bytes, 0, verified=runner.verifies, started=True)


def _through_loader(image: Image, board: Board, request: FlashRequest) -> Flashed:
    from uhost.flash._flasher import FLASHERS
    from uhost.runners._runner import RUNNERS, FlashingRunner

    if board.bootloader is None:
        probes = [
            runner.name
            for runner in RUNNERS
            if isinstance(runner, FlashingRunner) and not runner.supports(board)
        ]
        raise ConfigError(
            f"'{board.name}' has no ROM loader that uhost knows",
            fix=f"flash through a debug probe: --on {' or --on '.join(probes)}"
            if probes
            else "add 'bootloader:' to the board file, or a debug probe",
        )
    with _bar() as update:
        return FLASHERS[board.bootloader.kind].flash(image, board, request, update)


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    """Shows a bar for each phase on standard error; silent where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda phase, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:9}"), BarColumn(), DownloadColumn(binary_units=True))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        tasks = {}

        def update(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=total)
            bar.update(tasks[phase], completed=done, total=total)

        yield update


def _told(done: Flashed, board: str, seconds: float) -> list[str]:
    checked = "read back" if done.verified else "not read back"
    lines = [
        f"Flashed {board} in {seconds:.1f} s: {done.written_bytes:,} bytes, {checked}, "
        f"{'started' if done.started else 'not started'}",
        f"  by     {done.loader}",
    ]
    if done.repeated:
        lines.append(f"  line   {done.repeated} commands had to be repeated")
    return lines


COMMAND = command
