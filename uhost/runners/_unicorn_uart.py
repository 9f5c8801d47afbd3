"""UARTs as the Unicorn runner models them: one class per peripheral kind of a board file."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from uhost.config.board import Console
from uhost.runners._unicorn_uart_model import Uart, UartModel, Wire
from uhost.runners._unicorn_uart_nrf import NrfUart, NrfUarte

__all__ = ["UART_BYTES", "UART_KINDS", "NrfUarte", "Uart", "Wire"]


class _StmUsart(UartModel):
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


class CmsdkApbUart(UartModel):
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


class StmLpuart(StmUsartV3):
    """The low-power UART of STM32L4 and U5 (ST RM0432, "LPUART registers")."""

    def _divisor(self) -> float:
        return self._register(self.BRR) / 256


class Pl011(UartModel):
    """Arm's PrimeCell UART (Arm DDI 0183), also of LM3S and RP2040."""

    DATA = (0x00,)
    _FR, _IBRD, _FBRD, _LCRH, _CR, _IMSC, _MIS = 0x18, 0x24, 0x28, 0x2C, 0x30, 0x38, 0x40
    _UARTEN, _TXE, _RXE = 1 << 0, 1 << 8, 1 << 9
    _RXFE, _TXFE = 1 << 4, 1 << 7
    _RX, _TX, _RX_TIMEOUT = 1 << 4, 1 << 5, 1 << 6

    def __init__(self, console: Console, wire: Wire, before_first_byte: Callable[[], None]) -> None:
        super().__init__(console, wire, before_first_byte)
        self._latched = (0, 0)

    def read(self, offset: int) -> int:
        """Returns a register; the transmit buffer is always empty."""
        if offset == self._FR:
            return self._TXFE | (0 if self._has_byte() else self._RXFE)
        if offset == self._MIS:
            return self._RX if self.interrupts() else 0
        if offset in self.DATA:
            return self._take()
        return self._register(offset)

    def write(self, offset: int, value: int) -> None:
        """Writes a register; the divisor takes effect with the line control behind it."""
        super().write(offset, value)
        if offset == self._LCRH:
            self._latched = (self._register(self._IBRD), self._register(self._FBRD))

    def _sends(self) -> bool:
        mask = self._UARTEN | self._TXE
        return self._register(self._CR) & mask == mask

    def _receives(self) -> bool:
        mask = self._UARTEN | self._RXE
        return self._register(self._CR) & mask == mask

    def _receive_interrupt(self) -> bool:
        return bool(self._register(self._IMSC) & (self._RX | self._RX_TIMEOUT))

    def _transmit_interrupts(self) -> bool:
        return bool(self._register(self._IMSC) & self._TX)

    def _divisor(self) -> float:
        whole, fraction = self._latched
        return 16 * whole + fraction / 4 if whole else 0


class NxpLpuart(UartModel):
    """NXP's LPUART (i.MX RT1050 reference manual, "LPUART")."""

    DATA = (0x1C,)
    _BAUD, _STAT, _CTRL = 0x10, 0x14, 0x18
    _RE, _TE, _RIE, _TCIE, _TIE = 1 << 18, 1 << 19, 1 << 21, 1 << 22, 1 << 23
    _RDRF, _TC, _TDRE = 1 << 21, 1 << 22, 1 << 23

    def read(self, offset: int) -> int:
        """Returns a register; the transmit buffer is always empty."""
        if offset == self._STAT:
            return self._TDRE | self._TC | (self._RDRF if self._has_byte() else 0)
        if offset in self.DATA:
            return self._take()
        return self._register(offset)

    def _sends(self) -> bool:
        return bool(self._register(self._CTRL) & self._TE)

    def _receives(self) -> bool:
        return bool(self._register(self._CTRL) & self._RE)

    def _receive_interrupt(self) -> bool:
        return bool(self._register(self._CTRL) & self._RIE)

    def _transmit_interrupts(self) -> bool:
        return bool(self._register(self._CTRL) & (self._TIE | self._TCIE))

    def _divisor(self) -> float:
        baud = self._register(self._BAUD)
        return ((baud >> 24 & 0x1F) + 1) * (baud & 0x1FFF)


UART_KINDS: dict[str, Callable[[Console, Wire, Callable[[], None]], Uart]] = {
    "stm32_usart_v1": StmUsartV1,
    "stm32_usart_v3": StmUsartV3,
    "stm32_lpuart": StmLpuart,
    "cmsdk_apb_uart": CmsdkApbUart,
    "pl011": Pl011,
    "nxp_lpuart": NxpLpuart,
    "nrf_uart": NrfUart,
    "nrf_uarte": NrfUarte,
}
UART_BYTES = {"nrf_uart": 0x1000, "nrf_uarte": 0x1000, "pl011": 0x1000}
"""How many bytes of addresses a kind takes, where it is not 0x400."""
