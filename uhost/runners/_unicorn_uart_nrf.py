"""Nordic's UARTs as the Unicorn runner models them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from uhost.config.board import Console
from uhost.runners._unicorn_uart_model import UartModel, Wire


class NrfUart(UartModel):
    """The UART of nRF51 (nRF51 Series Reference Manual, "UART")."""

    DATA: ClassVar[tuple[int, ...]] = (0x51C,)
    _STARTRX, _STOPRX, _STARTTX, _STOPTX = 0x000, 0x004, 0x008, 0x00C
    _RXDRDY, _TXDRDY = 0x108, 0x11C
    _INTENSET, _INTENCLR, _ENABLE, _RXD, _BAUDRATE = 0x304, 0x308, 0x500, 0x518, 0x524
    _ENABLED = 4
    _RXDRDY_INTERRUPT, _TXDRDY_INTERRUPT = 1 << 2, 1 << 7
    _CLOCK_HZ = 16_000_000

    def __init__(self, console: Console, wire: Wire, before_first_byte: Callable[[], None]) -> None:
        super().__init__(console, wire, before_first_byte)
        self._running: set[int] = set()

    def read(self, offset: int) -> int:
        """Returns a register; the receive event is there as soon as a byte is."""
        if offset == self._RXDRDY:
            return int(self._has_byte())
        if offset == self._RXD:
            return self._take()
        if offset == self._INTENCLR:
            offset = self._INTENSET
        return self._register(offset)

    def write(self, offset: int, value: int) -> None:
        """Writes a register, or starts or stops a direction."""
        if offset in (self._STARTRX, self._STARTTX) and value & 1:
            self._running.add(offset)
        elif offset in (self._STOPRX, self._STOPTX) and value & 1:
            self._running.discard(offset - 4)
        elif offset == self._INTENSET:
            value |= self._register(self._INTENSET)
        elif offset == self._INTENCLR:
            offset, value = self._INTENSET, self._register(self._INTENSET) & ~value
        super().write(offset, value)
        if offset in self.DATA:
            self._registers[self._TXDRDY] = 1

    def _sends(self) -> bool:
        return self._enabled() and self._STARTTX in self._running

    def _receives(self) -> bool:
        return self._enabled() and self._STARTRX in self._running

    def _enabled(self) -> bool:
        return self._register(self._ENABLE) == self._ENABLED

    def _receive_interrupt(self) -> bool:
        return bool(self._register(self._INTENSET) & self._RXDRDY_INTERRUPT)

    def _transmit_interrupts(self) -> bool:
        return bool(self._register(self._INTENSET) & self._TXDRDY_INTERRUPT)

    def _divisor(self) -> float:
        """Returns what the console's clock would be divided by; the rate is a fraction of it."""
        rate = self._register(self._BAUDRATE) * self._CLOCK_HZ / (1 << 32)
        return self._console.clock_hz / rate if rate else 0


class NrfUarte(NrfUart):
    """The UART of nRF52 and nRF53, whose bytes move by DMA (nRF52840 PS, "UARTE").

    Of a transfer's length only one byte at a time is modelled, and no shortcuts. The
    memory is `connect`ed before it runs.
    """

    DATA: ClassVar[tuple[int, ...]] = ()
    _ENDRX, _ENDTX = 0x110, 0x120
    _RXD_PTR, _RXD_MAXCNT, _TXD_PTR, _TXD_MAXCNT = 0x534, 0x538, 0x544, 0x548
    _ENABLED = 8
    _RXDRDY_INTERRUPT, _TXDRDY_INTERRUPT = 1 << 4, 1 << 8 | 1 << 7

    def connect(self, load: Callable[[int], int], store: Callable[[int, int], None]) -> None:
        """Sets how a byte of memory is read and written."""
        self._load, self._store = load, store

    def read(self, offset: int) -> int:
        """Returns a register; a byte that waits arrives as the event is looked at."""
        if offset == self._ENDRX:
            self._arrive()
            return self._register(self._ENDRX)
        return self._register(self._INTENSET if offset == self._INTENCLR else offset)

    def write(self, offset: int, value: int) -> None:
        """Writes a register; starting the transmitter sends."""
        super().write(offset, value)
        if offset == self._STARTTX and value & 1:
            self._check("sends")
            self._one("sends", self._TXD_MAXCNT)
            self._wire.outgoing.append(self._load(self._register(self._TXD_PTR)))
            self._registers[self._ENDTX] = 1

    def interrupts(self) -> bool:
        """True while a byte has arrived and its interrupt is enabled."""
        self._arrive()
        return self._interrupting and bool(self._register(self._ENDRX))

    def _arrive(self) -> None:
        """Moves a waiting byte to memory, if the receiver was started since the last one."""
        if self._register(self._ENDRX) or not self._has_byte():
            return
        self._one("receives", self._RXD_MAXCNT)
        self._store(self._register(self._RXD_PTR), self._take())
        self._registers[self._ENDRX] = 1
        self._running.discard(self._STARTRX)
        self._receiving = False

    def _one(self, verb: str, count: int) -> None:
        if self._register(count) != 1:
            raise self._error(
                f"{verb} {self._register(count)} bytes at once",
                "the Unicorn runner moves one byte in a transfer: set MAXCNT to 1",
            )
