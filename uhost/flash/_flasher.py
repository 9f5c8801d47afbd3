"""What a flasher file defines: bringing an image into a board through the loader in its ROM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from uhost.config.board import Board
from uhost.errors import ConfigError, DeviceError
from uhost.registry import Registry
from uhost.toolchain._elf import Piece
from uhost.toolchain._toolchain import Image

Progress = Callable[[str, int, int], None]
"""Told of progress: the phase, and how many of how many bytes of it are done."""

_ERASED = 0xFF


class FlashError(DeviceError):
    """Flashing failed. The last part of `where` says what state the board is left in."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """Which modem control lines reach the board's reset and boot pins.

    `reset` and `boot` are `dtr`, `rts`, or one of these behind `!`; "" where none is wired.
    The line is asserted to hold the board in reset and to select its loader; with `!` it is
    released for that. USB bridges drive an asserted line low.
    """

    reset: str = ""
    boot: str = ""

    def __post_init__(self) -> None:
        for line in (self.reset, self.boot):
            if line.removeprefix("!") not in ("", "dtr", "rts") or line == "!":
                raise ConfigError(
                    f"'{line}' is no line of a serial port", fix="use dtr, rts, !dtr or !rts"
                )
        if self.reset and self.reset.removeprefix("!") == self.boot.removeprefix("!"):
            raise ConfigError(
                f"reset and boot pin cannot share the line '{self.reset.removeprefix('!')}'",
                fix="wire the one to DTR and the other to RTS",
            )


@dataclass(frozen=True, slots=True)
class FlashRequest:
    """How to flash: `port` is a serial port, or the folder of a drive; "" finds it.

    `baud` is the speed while flashing. Without `verify` nothing is read back, without
    `start` the image is left alone once it is written.
    """

    port: str = ""
    baud: int = 115200
    wiring: Wiring = Wiring()
    verify: bool = True
    start: bool = True


@dataclass(frozen=True, slots=True)
class Flashed:
    """What was done.

    `loader` is what the loader said of itself. `erased_bytes` counts whole sectors, and is
    0 where the loader erases as it sees fit. `repeated` counts what had to be sent again.
    """

    port: str
    loader: str
    written_bytes: int
    erased_bytes: int
    verified: bool
    started: bool
    repeated: int = 0


class Flasher(Protocol):
    """Flashes boards whose `bootloader` is of the kind that the file is named after."""

    @property
    def name(self) -> str:
        """The registry name."""

    def flash(
        self, image: Image, board: Board, request: FlashRequest, progress: Progress
    ) -> Flashed:
        """Writes `image`; raises `FlashError`, or `ConfigError` before anything is touched."""


FLASHERS: Registry[Flasher] = Registry("uhost.flash", "FLASHER", "flasher")


def cut(pieces: Sequence[Piece], block_bytes: int) -> dict[int, bytes]:
    """Returns address → content in whole blocks, ascending, filled up with erased bytes.

    Addresses are multiples of `block_bytes`. A block that two pieces share is in it once.
    """
    blocks: dict[int, bytearray] = {}
    for piece in pieces:
        for offset, value in _parts(piece, block_bytes):
            address = (piece.address + offset) // block_bytes * block_bytes
            block = blocks.setdefault(address, bytearray([_ERASED]) * block_bytes)
            at = piece.address + offset - address
            block[at : at + len(value)] = value
    return {address: bytes(blocks[address]) for address in sorted(blocks)}


def _parts(piece: Piece, block_bytes: int) -> list[tuple[int, bytes]]:
    """Returns offset → content, cut where blocks begin."""
    parts = []
    offset = 0
    while offset < len(piece.content):
        size = block_bytes - (piece.address + offset) % block_bytes
        parts.append((offset, piece.content[offset : offset + size]))
        offset += size
    return parts
