"""Flashes chips whose ROM shows a drive that takes UF2 files, such as the RP2040.

Format: the UF2 specification of Microsoft's MakeCode, and the RP2040 data sheet.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uhost.config.board import Board
from uhost.errors import ConfigError
from uhost.flash._flasher import Flashed, Flasher, FlashError, FlashRequest, Progress, cut
from uhost.toolchain._elf import Piece, read_program
from uhost.toolchain._toolchain import Image

PAGE_BYTES = 256
SECTOR_BYTES = 4096
BLOCK_BYTES = 512
INFO = "INFO_UF2.TXT"
FILE = "FIRMWARE.UF2"

_MAGIC = (0x0A324655, 0x9E5D5157, 0x0AB16F30)
_FAMILY_PRESENT = 0x2000
_WRITE_BYTES = 64 * BLOCK_BYTES
COPY_S = 60.0
"""A drive that takes longer hangs: the ROM writes 2 MiB in half of it."""


def uf2(pieces: Sequence[Piece], family_id: int) -> bytes:
    """Returns a UF2 file of `pieces`: 512-byte blocks that carry 256 bytes each.

    Sectors of 4 KiB are in it whole: the RP2040's ROM loses pages of sectors that are not
    (erratum E14).
    """
    pages = [
        (address + offset, sector[offset : offset + PAGE_BYTES])
        for address, sector in cut(pieces, SECTOR_BYTES).items()
        for offset in range(0, SECTOR_BYTES, PAGE_BYTES)
    ]
    blocks = []
    for number, (address, page) in enumerate(pages):
        head = struct.pack(
            "<8I",
            *_MAGIC[:2],
            _FAMILY_PRESENT,
            address,
            PAGE_BYTES,
            number,
            len(pages),
            family_id,
        )
        blocks.append((head + page).ljust(BLOCK_BYTES - 4, b"\0") + struct.pack("<I", _MAGIC[2]))
    return b"".join(blocks)


@dataclass(frozen=True, slots=True)
class Uf2:
    """Copies a UF2 file to the loader's drive, which goes away when the image starts."""

    name: str = "uf2"

    def flash(
        self, image: Image, board: Board, request: FlashRequest, progress: Progress
    ) -> Flashed:
        """Writes `image`; the drive cannot be read back, so nothing is verified.

        Raises `FlashError`, or `ConfigError` before anything is touched.
        """
        family_id = board.bootloader.family_id if board.bootloader else 0
        if not family_id:
            raise ConfigError(
                "the chip's UF2 family is not known",
                where=f"board {board.name}",
                fix="add 'family_id:' to 'bootloader:' in the chip's or board's file",
            )
        content = uf2(read_program(image.elf).pieces, family_id)
        drive = _drive(board, request.port)
        copy = _Copy(drive / FILE, content, progress)
        copy.run()
        return Flashed(
            port=str(drive),
            loader=_described(drive),
            written_bytes=len(content) // BLOCK_BYTES * PAGE_BYTES,
            erased_bytes=0,
            verified=False,
            started=True,
        )


def drives(mounts: Path = Path("/proc/self/mounts")) -> list[Path]:
    """Returns the mounted drives of UF2 loaders."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return []
    folders = [Path(_unescape(line.split()[1])) for line in lines if len(line.split()) > 1]
    return [folder for folder in folders if (folder / INFO).is_file()]


def _unescape(text: str) -> str:
    """Returns a mount point as it is: the kernel writes blanks as `\\040`."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def _drive(board: Board, port: str) -> Path:
    enter = board.bootloader.enter if board.bootloader else ""
    if port:
        if not (Path(port) / INFO).is_file():
            raise ConfigError(
                f"'{port}' is not the drive of a UF2 loader: it has no {INFO}",
                fix=f"start the loader ({enter}), and give the folder its drive is mounted at",
            )
        return Path(port)
    found = drives()
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(str, found))
    raise ConfigError(
        f"{len(found)} drives of UF2 loaders are mounted" if found else "no drive is mounted",
        where=listed or f"board {board.name}",
        fix="choose one with --port"
        if found
        else f"start the loader ({enter}), mount its drive, or give the folder with --port",
    )


def _described(drive: Path) -> str:
    """Returns the first line the loader says of itself; the drive may be gone by now."""
    try:
        return (drive / INFO).read_text(errors="replace").splitlines()[0]
    except (OSError, IndexError):
        return "UF2 loader"


class _Copy:
    """The copying, in a thread of its own: a drive that hangs blocks whoever writes to it."""

    def __init__(self, file: Path, content: bytes, progress: Progress) -> None:
        self._file = file
        self._content = content
        self._progress = progress
        self._written = 0
        self._error: OSError | None = None

    def run(self) -> None:
        """Returns when all bytes are written; raises `FlashError` after `COPY_S` seconds."""
        thread = threading.Thread(target=self._work, name="uhost-uf2", daemon=True)
        thread.start()
        thread.join(COPY_S)
        total = len(self._content)
        # The loader leaves with the last block, often before the system has closed the file.
        if not thread.is_alive() and (self._error is None or self._written == total):
            return
        reason = self._error.strerror if self._error else f"it took over {COPY_S:g} s"
        raise FlashError(
            f"the drive took {self._written:,} of {total:,} bytes: {reason}",
            where=f"{self._file.parent}; state of the board: it has no working firmware, and "
            "its loader still works",
            fix="unplug the board, start its loader again, and flash again",
        )

    def _work(self) -> None:
        total = len(self._content)
        try:
            with self._file.open("wb", buffering=0) as stream:
                for at in range(0, total, _WRITE_BYTES):
                    self._progress("writing", at, total)
                    piece = memoryview(self._content)[at : at + _WRITE_BYTES]
                    while piece:
                        taken = stream.write(piece) or 0
                        self._written += taken
                        piece = piece[taken:]
                    if self._written < total:
                        os.fsync(stream.fileno())
                self._progress("writing", total, total)
                os.fsync(stream.fileno())
        except OSError as error:
            self._error = error


FLASHER: Flasher = Uf2()
