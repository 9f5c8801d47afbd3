"""The protocol of the STM32's ROM loader over a UART: ST application note AN3155.

A command is its code and the complement of it; the loader acknowledges every step with
0x79 or refuses it with 0x1F. Nothing in it ends a command that stopped half-way: a loader
waits for the missing bytes for ever, so `resynchronize` sends bytes that no command can
take for its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor

from uhost.errors import DeviceError
from uhost.flash._line import LoaderLine

BLOCK_BYTES = 256
"""The most that one command writes or reads."""

_SYNC, _ACK, _NACK, _FILL = 0x7F, 0x79, 0x1F, 0xFF
_GET, _GET_ID, _READ, _GO, _WRITE = 0x00, 0x02, 0x11, 0x21, 0x31
_ERASE, _EXTENDED_ERASE = 0x43, 0x44
_EVERYTHING = 0xFFFF
_LAST_OLD_SECTOR = 254
_ANSWER_S = 0.5
_PROGRAM_S = 1.0
_START_S = 2.0
_SYNC_ATTEMPTS = 4
_FILL_BYTES = 16
_LONGEST_COMMAND_BYTES = BLOCK_BYTES + 2


class LoaderError(DeviceError):
    """A command did not go through: no answer, a refusal, or bytes that are neither."""


class RefusedError(LoaderError):
    """The loader answered NACK."""


@dataclass(frozen=True, slots=True)
class LoaderDescription:
    """What the loader says of itself: its version, its commands, the chip's id."""

    version: int
    commands: frozenset[int]
    chip_id: int

    def __str__(self) -> str:
        major, minor = self.version >> 4, self.version & 15
        return f"STM32 ROM loader {major}.{minor}, chip id 0x{self.chip_id:03x}"


class RomLoader:
    """The loader behind `line`. Commands raise `LoaderError`, a lost port `TransportError`."""

    def __init__(self, line: LoaderLine) -> None:
        self._line = line

    def synchronize(self) -> None:
        """Makes the loader measure the baud rate, or finds it waiting for a command.

        A loader that has measured takes the same byte for half a command and refuses the
        next one.
        """
        heard = b""
        for _ in range(_SYNC_ATTEMPTS):
            self._line.write(bytes([_SYNC]))
            answer = self._line.read(1, _ANSWER_S)
            if answer and answer[0] in (_ACK, _NACK):
                self._line.drain()
                return
            heard += answer + (self._line.drain() if answer else b"")
        try:
            self.resynchronize()
        except LoaderError:
            told = f"it sent {len(heard)} other bytes" if heard else "nothing came"
            raise LoaderError(f"no ROM loader answers: {told}") from None

    def resynchronize(self) -> None:
        """Brings a loader that stands anywhere in a command back to waiting for one."""
        self._line.drain()
        for _ in range(0, 2 * _LONGEST_COMMAND_BYTES, _FILL_BYTES):
            self._line.write(bytes([_FILL]) * _FILL_BYTES)
            if _NACK in self._line.read(_FILL_BYTES, 0.03):
                break
        self._line.drain()
        # The loader now waits for a command, or for the second byte of one.
        for _ in range(_SYNC_ATTEMPTS + 2):
            self._line.write(bytes([_FILL]))
            if self._line.read(1, 0.2) == bytes([_NACK]):
                return
        raise LoaderError("the loader has stopped answering")

    def describe(self) -> LoaderDescription:
        """Returns what GET and GET ID tell."""
        self._command(_GET, "GET")
        body = self._read_counted("GET")
        self._command(_GET_ID, "GET ID")
        chip = self._read_counted("GET ID")
        return LoaderDescription(body[0], frozenset(body[1:]), int.from_bytes(chip, "big"))

    def read(self, address: int, size: int) -> bytes:
        """Returns 1 to 256 bytes of memory."""
        self._command(_READ, "READ MEMORY")
        self._send(_checked(address.to_bytes(4, "big")), f"READ MEMORY at 0x{address:08x}")
        self._send(bytes([size - 1, (size - 1) ^ 0xFF]), f"READ MEMORY of {size} bytes")
        return self._read_exactly(size, "READ MEMORY")

    def write(self, address: int, content: bytes) -> None:
        """Writes 4 to 256 bytes, a multiple of 4, to erased flash."""
        self._command(_WRITE, "WRITE MEMORY")
        self._send(_checked(address.to_bytes(4, "big")), f"WRITE MEMORY at 0x{address:08x}")
        body = bytes([len(content) - 1]) + content
        self._send(_checked(body), f"WRITE MEMORY at 0x{address:08x}", _PROGRAM_S)

    def erase(
        self, loader: LoaderDescription, sectors: Sequence[int] | None, timeout_s: float
    ) -> None:
        """Erases sectors by number, or everything; it may take `timeout_s` seconds.

        Old loaders cannot name sectors from 255 on, and then erase everything.
        """
        if _EXTENDED_ERASE in loader.commands:
            self._command(_EXTENDED_ERASE, "EXTENDED ERASE")
            body = _EVERYTHING.to_bytes(2, "big")
            if sectors is not None:
                numbers = (len(sectors) - 1, *sectors)
                body = b"".join(number.to_bytes(2, "big") for number in numbers)
            self._send(_checked(body), "EXTENDED ERASE", timeout_s)
            return
        self._command(_ERASE, "ERASE")
        if sectors is None or max(sectors) > _LAST_OLD_SECTOR:
            self._send(b"\xff\x00", "ERASE", timeout_s)
        else:
            self._send(_checked(bytes([len(sectors) - 1, *sectors])), "ERASE", timeout_s)

    def go(self, address: int) -> None:
        """Starts the program whose vector table is at `address`."""
        self._command(_GO, "GO")
        self._send(_checked(address.to_bytes(4, "big")), f"GO to 0x{address:08x}", _START_S)

    def _command(self, code: int, name: str) -> None:
        self._send(bytes([code, code ^ 0xFF]), name)

    def _send(self, data: bytes, what: str, timeout_s: float = _ANSWER_S) -> None:
        self._line.write(data)
        # The acknowledgement comes after the bytes have crossed the line.
        self._acknowledged(what, timeout_s, len(data))

    def _acknowledged(self, what: str, timeout_s: float, sent_bytes: int = 0) -> None:
        answer = self._line.read(1, timeout_s + self._line.seconds(sent_bytes))
        if not answer:
            raise LoaderError(f"no answer to {what}")
        if answer[0] == _NACK:
            raise RefusedError(f"the loader refuses {what}")
        if answer[0] != _ACK:
            raise LoaderError(f"the loader answers {what} with 0x{answer[0]:02x}")

    def _read_counted(self, what: str) -> bytes:
        size = self._read_exactly(1, what)[0] + 1
        body = self._read_exactly(size, what)
        self._acknowledged(what, _ANSWER_S)
        return body

    def _read_exactly(self, size: int, what: str) -> bytes:
        received = self._line.read(size, _ANSWER_S)
        if len(received) < size:
            raise LoaderError(f"only {len(received)} of {size} bytes came after {what}")
        return received


def _checked(data: bytes) -> bytes:
    """Returns `data` with the exclusive-or of its bytes behind it."""
    return data + bytes([reduce(xor, data)])
