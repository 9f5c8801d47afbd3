"""What a runner file defines: starting an image on a simulator or a board."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from uhost.config.board import Board
from uhost.registry import Registry
from uhost.toolchain._toolchain import Image
from uhost.transport._transport import Transport


@dataclass(frozen=True, slots=True)
class ExecutedBlock:
    """Code without a branch but at its end, and how often it ran during one call.

    `call` is the place of the call in `RunCounts.calls`. `taken` of the `executed` times the
    next instruction was not the one behind the block.
    """

    call: int
    address: int
    size_bytes: int
    executed: int
    taken: int


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Executed instructions of one call of a watched function, interrupts excluded.

    `total` counts from its entry to its return. `calls` splits the total over the
    functions it called, in order: the instructions of the watched function that
    precede a call count with that call, and those after the last call with the last.
    `blocks` are what was executed; None if they were too many to be told apart.
    """

    total: int
    calls: tuple[int, ...]
    blocks: tuple[ExecutedBlock, ...] | None = field(default=None, compare=False, repr=False)


@runtime_checkable
class CountsInstructions(Protocol):
    """A transport whose runner can count executed instructions."""

    why_uncounted: str
    """Why it cannot here; "" where it can."""

    def watch(self, function: str) -> None:
        """Counts the next calls of the C function `function`."""

    def counts(self) -> RunCounts | None:
        """Returns the counts of the last finished call; None before one."""


class Runner(Protocol):
    """Starts an image and gives the line to it."""

    @property
    def name(self) -> str:
        """The registry name."""

    def supports(self, board: Board) -> str:
        """Returns "" if it runs the board's images, else the reason it does not."""

    def start(self, image: Image, board: Board) -> Transport:
        """Returns an opened transport to the started image; raises `RunnerError`."""


@runtime_checkable
class HardwareRunner(Runner, Protocol):
    """A runner that reaches real boards over a serial line: it can be told which one."""

    def at(self, port: str, probe: str) -> HardwareRunner:
        """Returns the runner for the board on a port, or with the probe of a serial number.

        "" leaves either open.
        """


@runtime_checkable
class FlashingRunner(HardwareRunner, Protocol):
    """A hardware runner that puts the image on the board first."""

    @property
    def verifies(self) -> bool:
        """True if it reads back what it wrote."""

    def at(self, port: str, probe: str) -> FlashingRunner:
        """Returns the runner for the board on a port, or with the probe of a serial number."""

    def flash(self, image: Image, board: Board) -> str:
        """Writes `image` to flash and resets the board; returns what the program said."""


RUNNERS: Registry[Runner] = Registry("uhost.runners", "RUNNER", "runner")
