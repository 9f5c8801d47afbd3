"""UARTs as the Unicorn runner models them: one class per peripheral kind of a board file.

A model is as strict as silicon where silicon is merciless: a transmitter that is not
enabled or runs at another rate than the board's console is an error, since a terminal
would show nothing or garbage. It is kinder in one respect: no byte is lost, the line
waits until the receiver is enabled and has taken the byte before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar, Protocol

from uhost.config.board import Console
from uhost.errors import RunnerError

_RATE_TOLERANCE = 0.025
"""How far two ends may differ at 10 bits per byte: half a bit over both."""


class Wire:
    """The bytes between the host and the UART.

    `incoming` are those the host sent. With the receive interrupt on, at most
    `burst_bytes` of them arrive before the firmware sleeps again, so that a receive ring
    of twice that size never overflows although the simulated line has no speed.
    """

    def __init__(self, burst_bytes: int) -> None:
        self.incoming: deque[int] = deque()
        self.outgoing: deque[int] = deque()
        self._burst_bytes = burst_bytes
        self._allowed = burst_bytes

    def renew(self) -> None:
        """Lets the next burst in; called when the firmware sleeps."""
        self._allowed = self._burst_bytes

    def waiting(self, limited: bool) -> bool:
        """True if a byte stands in the receive register; `limited` honours the burst."""
        return bool(self.incoming) and (self._allowed > 0 or not limited)

    def take(self) -> int:
        """Returns the byte of the receive register and makes room for the next."""
        self._allowed -= 1
        return self.incoming.popleft()


class Uart(Protocol):
    """A UART seen from the bus: 32-bit registers at byte offsets from its base."""

    def read(self, offset: int) -> int:
        """Returns the register at `offset`, with the side effects of reading it."""

    def write(self, offset: int, value: int) -> None:
        """Writes the register at `offset`; raises `RunnerError` for what silicon would not send."""

    def interrupts(self) -> bool:
        """True while the receive interrupt line is active."""


class _Uart:
    """What all kinds share: plain registers, and the checks before a byte is moved."""

    DATA: ClassVar[tuple[int, ...]]
    """Offsets of the data registers."""

    def __init__(self, console: Console, wire: Wire, before_first_byte: Callable[[], None]) -> None:
        self._console = console
        self._wire = wire
        self._registers: dict[int, int] = {}
        self._before_first_byte = before_first_byte
        self._checked = False
        self._receiving = False
        self._interrupting = False

    def write(self, offset: int, value: int) -> None:
        """Writes a register; a byte in the data register goes to the host."""
        if offset in self.DATA:
            self._check("sends")
            self._wire.outgoing.append(value & 0xFF)
        else:
            self._registers[offset] = value
            self._checked = False
            self._receiving = self._receives()
            self._interrupting = self._receive_interrupt()
            if self._transmit_interrupts():
                raise self._error(
                    "switches on a transmit interrupt",
                    "the Unicorn runner delivers the receive interrupt alone: send by polling, "
                    "or run with --on qemu",
                )

    def interrupts(self) -> bool:
        """True while a byte waits and its interrupt is enabled."""
        return self._interrupting and self._has_byte()

    def _has_byte(self) -> bool:
        return self._receiving and self._wire.waiting(self._interrupting)

    def _take(self) -> int:
        self._check("receives")
        return self._wire.take() if self._has_byte() else 0

    def _check(self, verb: str) -> None:
        """Raises unless the line works; checked again after every change of a register."""
        if self._checked:
            return
        if verb == "sends" and not self._sends():
            raise self._error(
                "sends before it has enabled the transmitter", "enable the UART, then write data"
            )
        divisor = self._divisor()
        clock_hz = self._console.clock_hz
        if divisor == 0 or abs(clock_hz / divisor / self._console.baud - 1) > _RATE_TOLERANCE:
            actual = f"{clock_hz / divisor:.0f}" if divisor else "no"
            raise self._error(
                f"{verb} at {actual} baud where the console has {self._console.baud}",
                f"the divisor must be {clock_hz / self._console.baud:.0f} for "
                f"a UART clock of {clock_hz} Hz; it is {divisor:g}",
            )
        self._before_first_byte()
        self._checked = True

    def _error(self, deed: str, fix: str) -> RunnerError:
        name = self._console.uart
        where = f"{name} at 0x{self._console.base:08x} ({self._console.kind})"
        return RunnerError(f"the firmware {deed} on {name}", where=where, fix=fix)

    def _register(self, offset: int) -> int:
        return self._registers.get(offset, 0)

    def _sends(self) -> bool:
        raise NotImplementedError

    def _receives(self) -> bool:
        raise NotImplementedError

    def _receive_interrupt(self) -> bool:
        raise NotImplementedError

    def _transmit_interrupts(self) -> bool:
        raise NotImplementedError

    def _divisor(self) -> float:
        raise NotImplementedError


class _StmUsart(_Uart):
    """The parts that both generations of ST's USART share; the layouts differ."""

    STATUS: ClassVar[int]
    BRR: ClassVar[int]
    CR1: ClassVar[int]
    ENABLE: ClassVar[int]
    """The mask of UE in CR1."""
    RECEIVE: ClassVar[int]
    """The offset of the register that holds the received byte."""

    _RE, _TE, _RXNEIE, _TCIE, _TXEIE, _OVER8 = 1 << 2, 1 << 3, 1 << 5, 1 << 6, 1 << 7, 1 << 15
    _RXNE, _TC, _TXE = 1 << 5, 1 << 6, 1 << 7

    def read(self, offset: int) -> int:
        """Returns a register; TXE and TC are always set, since the line takes no time."""
        if offset == self.STATUS:
            return self._TXE | self._TC | (self._RXNE if self._has_byte() else 0)
        if offset == self.RECEIVE:
            return self._take()
        return self._register(offset)

    def _sends(self) -> bool:
        mask = self.ENABLE | self._TE
        return self._register(self.CR1) & mask == mask

    def _receives(self) -> bool:
        mask = self.ENABLE | self._RE
        return self._register(self.CR1) & mask == mask

    def _receive_interrupt(self) -> bool:
        return bool(self._register(self.CR1) & self._RXNEIE)

    def _transmit_interrupts(self) -> bool:
        return bool(self._register(self.CR1) & (self._TXEIE | self._TCIE))


class StmUsartV1(_StmUsart):
    """STM32F2 and F4 (ST RM0090, "USART registers")."""

    STATUS, RECEIVE, BRR, CR1 = 0x00, 0x04, 0x08, 0x0C
    DATA = (0x04,)
    ENABLE = 1 << 13

    def _divisor(self) -> float:
        rate = self._register(self.BRR)
        if self._register(self.CR1) & self._OVER8:
            return (rate >> 4) * 8 + (rate & 7)
        return rate


class StmUsartV3(_StmUsart):
    """STM32F7, H7, L4 and U5 (ST RM0385, "USART registers")."""

    CR1, BRR, STATUS, RECEIVE = 0x00, 0x0C, 0x1C, 0x24
    DATA = (0x28,)
    ENABLE = 1 << 0

    def _divisor(self) -> float:
        rate = self._register(self.BRR)
        if self._register(self.CR1) & self._OVER8:
            return ((rate & ~0xF) | (rate & 7) << 1) / 2
        return rate


class CmsdkApbUart(_Uart):
    """The UART of Arm's Cortex-M System Design Kit (Arm DDI 0479, "APB UART").

    The receive interrupt follows the full flag of the buffer: acknowledging it before or
    after the byte is read makes no difference here.
    """

    DATA = (0x00,)
    _STATE, _CTRL, _INTSTATUS, _BAUDDIV = 0x04, 0x08, 0x0C, 0x10
    _TXEN, _RXEN, _TXIRQEN, _RXIRQEN = 1, 2, 4, 8
    _RXFULL, _RX_INTERRUPT = 2, 2

    def read(self, offset: int) -> int:
        """Returns a register; the transmit buffer is never full."""
        if offset == self._STATE:
            return self._RXFULL if self._has_byte() else 0
        if offset == self._INTSTATUS:
            return self._RX_INTERRUPT if self.interrupts() else 0
        if offset in self.DATA:
            return self._take()
        return self._register(offset)

    def _sends(self) -> bool:
        return bool(self._register(self._CTRL) & self._TXEN)

    def _receives(self) -> bool:
        return bool(self._register(self._CTRL) & self._RXEN)

    def _receive_interrupt(self) -> bool:
        return bool(self._register(self._CTRL) & self._RXIRQEN)

    def _transmit_interrupts(self) -> bool:
        return bool(self._register(self._CTRL) & self._TXIRQEN)

    def _divisor(self) -> float:
        divisor = self._register(self._BAUDDIV)
        return divisor if divisor >= 16 else 0


UART_KINDS: dict[str, Callable[[Console, Wire, Callable[[], None]], Uart]] = {
    "stm32_usart_v1": StmUsartV1,
    "stm32_usart_v3": StmUsartV3,
    "cmsdk_apb_uart": CmsdkApbUart,
}
