"""Devices: where an executor runs."""

from __future__ import annotations

from dataclasses import dataclass

from uhost.config.board import Board, load_board
from uhost.errors import ConfigError
from uhost.runners._runner import RUNNERS


@dataclass(frozen=True, slots=True)
class Device:
    """A board, and the runner that reaches it."""

    board: Board
    runner: str

    def __str__(self) -> str:
        return f"{self.board.name} ({self.runner})"


def cpu(index: int = 0) -> Device:
    """Returns this machine as a device. There is one, with index 0."""
    if index != 0:
        raise ConfigError(f"there is no cpu({index})", fix="use uhost.cpu(0)")
    return device("host")


def device(board: str | Board, on: str | None = None) -> Device:
    """Returns the device that runs `board`'s images on the runner `on`.

    Without `on`, the first runner of the board's own list that supports it. Raises
    `ConfigError` with the runners that do where `on` does not.
    """
    found = load_board(board) if isinstance(board, str) else board
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
