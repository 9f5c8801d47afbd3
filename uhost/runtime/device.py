"""Devices: where an executor runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from uhost.config.board import Board, load_board
from uhost.errors import ConfigError
from uhost.runners._runner import RUNNERS, HardwareRunner

IN_PROCESS = "in_process"


@dataclass(frozen=True, slots=True)
class Device:
    """A board, and the runner that reaches it.

    The runner `in_process` is no file of `uhost/runners`: it is this process itself.
    `port` is the serial port of a real board's console and `probe` the serial number of its
    debug probe; "" where they are found by the board's USB ids.
    """

    board: Board
    runner: str
    port: str = ""
    probe: str = ""

    def __str__(self) -> str:
        return f"{self.board.name} ({self.runner})"


def cpu(index: int = 0) -> Device:
    """Returns this machine as a device: models run in this process. There is one, index 0.

    `uhost.device("host")` is this machine too, with the model in a process of its own.
    """
    if index != 0:
        raise ConfigError(f"there is no cpu({index})", fix="use uhost.cpu(0)")
    return Device(load_board("host"), IN_PROCESS)


def device(board: str | Board, on: str | None = None, *, port: str = "", probe: str = "") -> Device:
    """Returns the device that runs `board`'s images on the runner `on`.

    Without `on`, the first runner of the board's own list that supports it, and with a
    `port` the runner `serial`. `on` may be a port itself. Raises `ConfigError` with the
    runners that do where `on` does not.
    """
    found = load_board(board) if isinstance(board, str) else board
    if on is not None and on not in RUNNERS and os.sep in on:
        on, port = "serial", on
    elif on is None and port:
        on = "serial"
    if port or probe:
        return _real_device(found, on, port, probe)
    if on is not None:
        reason = RUNNERS[on].supports(found)
        if reason:
            usable = [name for name in found.runners if not RUNNERS[name].supports(found)]
            raise ConfigError(
                f"the runner '{on}' cannot run the board '{found.name}': {reason}",
                fix=f"use --on {' or --on '.join(usable)}" if usable else "choose another board",
            )
        return Device(found, on)
    reasons = []
    for name in found.runners:
        reason = RUNNERS[name].supports(found)
        if not reason:
            return Device(found, name)
        reasons.append(f"{name}: {reason}")
    raise ConfigError(
        f"no runner can run the board '{found.name}'",
        where="; ".join(reasons),
        fix=f"runners: {', '.join(RUNNERS.names())}",
    )


def _real_device(board: Board, on: str | None, port: str, probe: str) -> Device:
    hardware = [runner.name for runner in RUNNERS if isinstance(runner, HardwareRunner)]
    if on not in hardware:
        option = "port" if port else "probe"
        raise ConfigError(
            f"the runner '{on}' has no {option}" if on else "a probe alone does not say what for",
            fix=f"leave out --{option}, or use --on {' or --on '.join(hardware)}",
        )
    assert on is not None
    return replace(device(board, on), port=port, probe=probe)
