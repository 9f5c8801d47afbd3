"""An emulator of the STM32's ROM loader (ST AN3155) on a pseudo-terminal, with faults.

Like the chip's it knows no time-outs: what begins a command waits for the rest for ever.
Flash bits can be cleared by writing and set by erasing alone.
"""

from __future__ import annotations

import os
import random
import select
import threading
import tty
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import reduce
from operator import xor
from types import TracebackType

SYNC, ACK, NACK = 0x7F, 0x79, 0x1F
VERSION = 0x31
NAMES = {0x11: "READ MEMORY", 0x21: "GO", 0x31: "WRITE MEMORY"}
COMMANDS = (0x00, 0x01, 0x02, 0x11, 0x21, 0x31, 0x44)

Steps = Generator[None, int, None]
Boot = Callable[[int, bytes, threading.Event], None]
"""What runs after GO: gets the terminal, the flash, and an event that says when to stop."""


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong, seeded. Probabilities are from 0 to 1.

    `lose_in` and `lose_out` lose bytes on the way to the loader and back, `flip_out` inverts
    a bit of a byte on the way back; `refuse` refuses whole commands.
    `odd_parity_only` is a line without parity: the loader drops every byte with an even
    number of ones, for the stop bit in the place of its parity bit is a one.
    `unplug_after` pulls the plug when so many bytes have come in, `protected` refuses
    everything that touches memory, `dead_after` stops answering after so many bytes.
    """

    lose_in: float = 0.0
    lose_out: float = 0.0
    flip_out: float = 0.0
    refuse: float = 0.0
    odd_parity_only: bool = False
    unplug_after: int | None = None
    dead_after: int | None = None
    protected: bool = False


class Stm32BootloaderEmulator:
    """A chip in its loader. `flash` holds what is in it, `erased` the sectors erased so far, and
    `received` every byte that came.

    Context manager: on leaving it, the port is gone and everything has stopped.
    """

    def __init__(
        self,
        start: int,
        sectors_bytes: tuple[int, ...],
        *,
        chip_id: int = 0x449,
        faults: Faults | None = None,
        seed: int = 1,
        boot: Boot | None = None,
        commands: tuple[int, ...] = COMMANDS,
    ) -> None:
        self.start = start
        self.sectors_bytes = sectors_bytes
        self.faults = faults or Faults()
        self.commands = commands
        self._chip_id = chip_id
        self._boot = boot
        self._random = random.Random(seed)
        self.flash = bytearray(self._random.randbytes(sum(sectors_bytes)))
        self.erased: list[int] = []
        self.started_at: int | None = None
        self.last_command = ""
        self.received = bytearray()
        self._stop = threading.Event()
        self._terminal, self._port_fd = os.openpty()
        tty.setraw(self._port_fd)
        self.port = os.ttyname(self._port_fd)
        self._unplugged = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Stm32BootloaderEmulator:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(30)
        self._unplug()

    def content(self, address: int, size: int) -> bytes:
        """Returns bytes of the flash."""
        return bytes(self.flash[address - self.start : address - self.start + size])

    def _work(self) -> None:
        steps = self._loader()
        next(steps)
        while not self._stop.is_set() and self.started_at is None:
            ready, _, _ = select.select([self._terminal], [], [], 0.01)
            for byte in os.read(self._terminal, 4096) if ready else b"":
                self.received.append(byte)
                if len(self.received) == self.faults.unplug_after:
                    self._unplug()
                    return
                if self._arrives(byte):
                    steps.send(byte)
        if self.started_at is not None and self._boot is not None:
            self._boot(self._terminal, bytes(self.flash), self._stop)

    def _arrives(self, byte: int) -> bool:
        if self.faults.odd_parity_only and byte.bit_count() % 2 == 0:
            return False
        return self._random.random() >= self.faults.lose_in

    def _unplug(self) -> None:
        if not self._unplugged:
            self._unplugged = True
            os.close(self._terminal)
            os.close(self._port_fd)

    def _send(self, *data: int) -> None:
        dead_after = self.faults.dead_after
        if dead_after is not None and len(self.received) >= dead_after:
            return
        for byte in data:
            if self._random.random() < self.faults.lose_out:
                continue
            flipped = self._random.random() < self.faults.flip_out
            os.write(self._terminal, bytes([byte ^ (0x10 if flipped else 0)]))

    # ---- the loader ------------------------------------------------------------------------

    def _loader(self) -> Steps:
        while (yield) != SYNC:
            pass
        self._send(ACK)
        memory_commands = {
            0x11: self._read,
            0x21: self._go,
            0x31: self._write,
            0x43: self._erase,
            0x44: self._extended_erase,
        }
        while True:
            code = yield
            check = yield
            is_known = code ^ check == 0xFF and code in self.commands
            if not is_known or self._random.random() < self.faults.refuse:
                self._send(NACK)
            elif code == 0x00:
                self._send(ACK, len(self.commands), VERSION, *self.commands, ACK)
            elif code == 0x01:
                self._send(ACK, VERSION, 0, 0, ACK)
            elif code == 0x02:
                self._send(ACK, 1, *self._chip_id.to_bytes(2, "big"), ACK)
            elif self.faults.protected:
                self._send(NACK)
            else:
                self.last_command = NAMES.get(code, "")
                self._send(ACK)
                yield from memory_commands[code]()

    def _address(self) -> Generator[None, int, int | None]:
        """Returns an address in flash, for the caller to acknowledge; else None, refused."""
        received = []
        for _ in range(5):
            received.append((yield))
        address = int.from_bytes(bytes(received[:4]), "big")
        inside = self.start <= address < self.start + len(self.flash)
        if reduce(xor, received) != 0 or not inside:
            self._send(NACK)
            return None
        return address

    def _read(self) -> Steps:
        address = yield from self._address()
        if address is None:
            return
        self._send(ACK)
        count = yield
        if (yield) ^ count != 0xFF:
            self._send(NACK)
            return
        self._send(ACK, *self.content(address, count + 1))

    def _write(self) -> Steps:
        address = yield from self._address()
        if address is None:
            return
        self._send(ACK)
        count = yield
        body = []
        for _ in range(count + 1):
            body.append((yield))
        if (yield) != reduce(xor, body, count) or (count + 1) % 4 or address % 4:
            self._send(NACK)
            return
        at = address - self.start
        for i, byte in enumerate(body):
            self.flash[at + i] &= byte
        self._send(ACK)

    def _go(self) -> Steps:
        address = yield from self._address()
        if address is not None:
            self.started_at = address
            self._send(ACK)

    def _erase(self) -> Steps:
        count = yield
        if count == 0xFF:
            self._finish_erase(range(len(self.sectors_bytes)), (yield) == 0x00)
            return
        sectors = []
        for _ in range(count + 1):
            sectors.append((yield))
        self._finish_erase(sectors, (yield) == reduce(xor, sectors, count))

    def _extended_erase(self) -> Steps:
        high = yield
        low = yield
        count = high << 8 | low
        if count == 0xFFFF:
            self._finish_erase(range(len(self.sectors_bytes)), (yield) == 0x00)
            return
        received = []
        for _ in range(2 * (count + 1)):
            received.append((yield))
        sectors = [received[i] << 8 | received[i + 1] for i in range(0, len(received), 2)]
        self._finish_erase(sectors, (yield) == reduce(xor, received, high ^ low))

    def _finish_erase(self, sectors: range | list[int], is_right: bool) -> None:
        if not is_right or not all(0 <= s < len(self.sectors_bytes) for s in sectors):
            self._send(NACK)
            return
        for sector in sectors:
            at = sum(self.sectors_bytes[:sector])
            size = self.sectors_bytes[sector]
            self.flash[at : at + size] = b"\xff" * size
            self.erased.append(sector)
        self._send(ACK)
