"""Puts an image into a Unicorn engine as a flash tool would put it into the chip."""

from __future__ import annotations

import struct
from pathlib import Path

from unicorn import UC_PROT_EXEC, UC_PROT_READ, UC_PROT_WRITE, Uc, UcError

from uhost.config.board import Board
from uhost.errors import RunnerError
from uhost.toolchain._elf import read_program

PAGE_BYTES = 4096
"""Unicorn maps whole pages of this size."""


def map_memory(engine: Uc, board: Board) -> None:
    """Maps the board's memory regions: flash readable and executable, the rest also writable.

    Memory on the data bus only (`ccm`) is not executable.
    """
    for region in board.regions:
        rights = UC_PROT_READ
        if region.kind != "flash":
            rights |= UC_PROT_WRITE
        if region.kind != "ccm":
            rights |= UC_PROT_EXEC
        try:
            engine.mem_map(region.start, region.size_bytes, rights)
        except UcError as cause:
            raise RunnerError(
                f"the Unicorn runner cannot map the memory region '{region.name}': {cause}",
                where=f"board {board.name}, 0x{region.start:08x} to 0x{region.end:08x}",
                fix=f"regions must not overlap, and begin and end at multiples of {PAGE_BYTES}",
            ) from None


def load_elf(engine: Uc, path: Path) -> None:
    """Writes the image to its load addresses; start-up code copies from there what it must."""
    for piece in read_program(path).pieces:
        try:
            engine.mem_write(piece.address, piece.content)
        except UcError:
            raise RunnerError(
                "the image has contents outside the board's memory",
                where=f"{path}: {len(piece.content)} bytes at 0x{piece.address:08x}",
                fix="link it for this board",
            ) from None


def read_words(engine: Uc, address: int, count: int) -> tuple[int, ...]:
    """Returns `count` words of memory; raises `UcError` where none is mapped."""
    return struct.unpack(f"<{count}I", engine.mem_read(address, 4 * count))


def write_words(engine: Uc, address: int, words: tuple[int, ...]) -> None:
    """Writes words to memory; raises `UcError` where none is mapped."""
    engine.mem_write(address, struct.pack(f"<{len(words)}I", *words))
