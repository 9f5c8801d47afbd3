"""What the models of UARTs share: the line to the host, and the checks of a careful terminal.

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


class UartModel:
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
