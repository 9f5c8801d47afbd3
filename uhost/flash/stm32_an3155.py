"""Flashes STM32 chips through the loader in their ROM, over a UART."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from uhost.config.board import Board, Region
from uhost.errors import ConfigError, DeviceError, TransportError
from uhost.flash._an3155 import (
    BLOCK_BYTES,
    LoaderDescription,
    LoaderError,
    RefusedError,
    RomLoader,
)
from uhost.flash._flasher import Flashed, Flasher, FlashError, FlashRequest, Progress, cut
from uhost.flash._line import LoaderLine
from uhost.toolchain._elf import read_program
from uhost.toolchain._toolchain import Image

T = TypeVar("T")

_ATTEMPTS = 4
_ROUNDS = 2
_MAX_REPEATED = 40
"""A line on which more than these fail is not worth the wait."""
# The slowest sectors in data sheets take 4 s per 128 KiB.
_ERASE_S, _ERASE_S_PER_KIB = 2.0, 0.04
_PROTECTED = "the chip may be protected against reading, which stops its loader too"


class _SpoiledError(Exception):
    """Flash holds neither what was written nor nothing: it has to be erased again."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erase command: a sector by its number, or everything."""

    sector: int | None
    size_bytes: int

    @property
    def timeout_s(self) -> float:
        """How long it may take."""
        return _ERASE_S + _ERASE_S_PER_KIB * self.size_bytes / 1024


def plan_erasure(blocks: dict[int, bytes], flash: Region) -> tuple[Erasure, ...]:
    """Returns what to erase for `blocks`: only their sectors, where the chip file has them.

    Raises `ConfigError` for blocks outside `flash`.
    """
    for address in blocks:
        if not flash.start <= address < flash.end:
            raise ConfigError(
                f"the image has bytes at 0x{address:08x}, outside the flash",
                where=f"region '{flash.name}', 0x{flash.start:08x} to 0x{flash.end - 1:08x}",
                fix="the ROM loader writes the chip's own flash alone; use a debug probe",
            )
    if not flash.sectors_bytes:
        return (Erasure(None, flash.size_bytes),)
    erasures = []
    start = flash.start
    for number, size_bytes in enumerate(flash.sectors_bytes):
        if any(start <= address < start + size_bytes for address in blocks):
            erasures.append(Erasure(number, size_bytes))
        start += size_bytes
    return tuple(erasures)


@dataclass(frozen=True, slots=True)
class Stm32An3155:
    """Erases the sectors in use, writes, reads back, and starts the image."""

    name: str = "stm32_an3155"

    def flash(
        self, image: Image, board: Board, request: FlashRequest, progress: Progress
    ) -> Flashed:
        """Writes `image`; raises `FlashError`, or `ConfigError` before anything is touched."""
        if not request.port:
            raise ConfigError(
                "no serial port given",
                where=f"board {board.name}",
                fix="add --port; `uhost ports` lists them",
            )
        blocks = cut(read_program(image.elf).pieces, BLOCK_BYTES)
        erasures = plan_erasure(blocks, board.region(board.flash))
        job = _Job(board, request, blocks, erasures, progress)
        with job.told():
            line = LoaderLine(request.port, request.baud, request.wiring)
            try:
                return job.run(line)
            finally:
                line.close()


@dataclass(slots=True)
class _Job:
    board: Board
    request: FlashRequest
    blocks: dict[int, bytes]
    erasures: tuple[Erasure, ...]
    progress: Progress
    state: str = "nothing was changed"
    doing: str = "looking for the loader"
    repeated: int = 0
    loader: RomLoader = field(init=False)
    description: LoaderDescription = field(init=False)

    def run(self, line: LoaderLine) -> Flashed:
        self.loader = RomLoader(line)
        line.reset(into_loader=True)
        self.loader.synchronize()
        self.doing = "asking the loader"
        self.description = self._insist(self.loader.describe)
        self._check_chip()
        for last in (*(False,) * (_ROUNDS - 1), True):
            try:
                self._erase()
                self._write()
                if self.request.verify:
                    self._verify()
                break
            except _SpoiledError as error:
                if last:
                    raise LoaderError(str(error)) from None
        if self.request.start:
            self._start(line)
        return Flashed(
            port=self.request.port,
            loader=str(self.description),
            written_bytes=self._total(),
            erased_bytes=sum(erasure.size_bytes for erasure in self.erasures),
            verified=self.request.verify,
            started=self.request.start,
            repeated=self.repeated,
        )

    def _check_chip(self) -> None:
        bootloader = self.board.bootloader
        expected = bootloader.chip_id if bootloader else 0
        found = self.description.chip_id
        if expected and found != expected:
            raise ConfigError(
                f"the chip on the port is another than that of '{self.board.name}': "
                f"its id is 0x{found:03x}, not 0x{expected:03x}",
                where=f"{self.request.port}: nothing was changed",
                fix="choose the port or the board; `uhost ports` lists the ports",
            )

    def _erase(self) -> None:
        self.doing = "erasing"
        total = sum(erasure.size_bytes for erasure in self.erasures)
        done = 0
        self.state = "the flash is partly erased: the firmware before is gone"
        for erasure in self.erasures:
            self.progress("erasing", done, total)
            sectors = None if erasure.sector is None else [erasure.sector]
            loader, limit_s = self.description, erasure.timeout_s
            self._insist(partial(self.loader.erase, loader, sectors, limit_s))
            done += erasure.size_bytes
        self.progress("erasing", done, total)

    def _write(self) -> None:
        self.doing = "writing"
        total = self._total()
        for count, (address, block) in enumerate(self.blocks.items()):
            done = count * BLOCK_BYTES
            self.state = f"{done:,} of {total:,} bytes are written: it has no working firmware"
            self.progress("writing", done, total)
            self._write_block(address, block)
        self.progress("writing", total, total)
        self.state = "all bytes are written, not all read back; the firmware does not run"

    def _write_block(self, address: int, block: bytes) -> None:
        """Writes one block; after a failure looks first what the flash holds now."""
        suspect = False

        def write() -> None:
            nonlocal suspect
            if suspect:
                found = self.loader.read(address, BLOCK_BYTES)
                if found == block:
                    return
                if found.strip(b"\xff"):
                    raise _SpoiledError(f"the block at 0x{address:08x} was written in part")
            suspect = True
            self.loader.write(address, block)

        if block.strip(b"\xff"):  # else it is as erased, and may stay so
            self._insist(write)

    def _verify(self) -> None:
        self.doing = "reading back"
        total = self._total()
        for count, (address, block) in enumerate(self.blocks.items()):
            self.progress("verifying", count * BLOCK_BYTES, total)
            for _ in range(_ATTEMPTS):
                found = self._insist(partial(self.loader.read, address, BLOCK_BYTES))
                if found == block:
                    break
                self._count_repeat()
            else:
                wrong = next(i for i in range(BLOCK_BYTES) if found[i] != block[i])
                raise _SpoiledError(
                    f"the flash holds 0x{found[wrong]:02x} at 0x{address + wrong:08x}, where "
                    f"0x{block[wrong]:02x} was written"
                )
        self.progress("verifying", total, total)
        self.state = "the flash is written and read back; the firmware does not run yet"

    def _start(self, line: LoaderLine) -> None:
        """Starts the image: by a reset where one is wired, which leaves nothing of the loader."""
        self.doing = "starting the firmware"
        if line.can_reset:
            line.reset(into_loader=False)
        else:
            self._insist(partial(self.loader.go, self.board.region(self.board.flash).start))

    def _insist(self, action: Callable[[], T]) -> T:
        """Returns what `action` returns, repeating it after failures of the line."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return action()
            except LoaderError:
                self._count_repeat()
                self.loader.resynchronize()
        return action()

    def _count_repeat(self) -> None:
        self.repeated += 1
        if self.repeated > _MAX_REPEATED:
            raise LoaderError(f"the line is bad: {_MAX_REPEATED} commands had to be repeated")

    def _total(self) -> int:
        return len(self.blocks) * BLOCK_BYTES

    @contextmanager
    def told(self) -> Iterator[None]:
        """Turns failures of line and loader into `FlashError` with the board's state."""
        started_s = time.monotonic()
        try:
            yield
        except ConfigError:
            raise
        except DeviceError as error:
            enter = self.board.bootloader.enter if self.board.bootloader else "see its manual"
            what = f"{error.what} ({_PROTECTED})" if isinstance(error, RefusedError) else error.what
            again = f"start the loader again ({enter}), then flash again: it begins anew"
            if isinstance(error, TransportError):
                again = f"{error.fix}; {again}"
            elif self.doing == "asking the loader":
                again = f"check that the line carries even parity (8E1); {again}"
            raise FlashError(
                f"flashing failed while {self.doing}: {what}",
                where=f"{self.request.port}, after {time.monotonic() - started_s:.1f} s; "
                f"state of the board: {self.state}",
                fix=again,
            ) from error


FLASHER: Flasher = Stm32An3155()
