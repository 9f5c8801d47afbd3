"""The UART models against the register descriptions of board-facts and the vendors' manuals."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from uhost.config.board import Console
from uhost.errors import RunnerError
from uhost.runners._unicorn_uart import UART_KINDS, Uart, Wire


@dataclass(frozen=True)
class Layout:
    """Offsets and values of one kind; `divisor` gives 115200 baud from 24 MHz."""

    control: int
    enable: int
    interrupt: int
    transmit_interrupt: int
    baud: int
    status: int
    send: int
    receive: int
    can_send: int
    has_byte: int
    idle: int
    divisor: int = 208


LAYOUTS = {
    "stm32_usart_v1": Layout(
        0x0C, 1 << 13 | 1 << 3 | 1 << 2, 1 << 5, 1 << 7, 0x08, 0x00, 0x04, 0x04, 0x80, 0x20, 0xC0
    ),
    "stm32_usart_v3": Layout(
        0x00, 1 << 0 | 1 << 3 | 1 << 2, 1 << 5, 1 << 7, 0x0C, 0x1C, 0x28, 0x24, 0x80, 0x20, 0xC0
    ),
    "cmsdk_apb_uart": Layout(0x08, 3, 8, 4, 0x10, 0x04, 0x00, 0x00, 0, 2, 0),
}


def console(kind: str) -> Console:
    return Console("USART9", kind, 0x40011000, 37, 115200, 24_000_000, 16_000_000, 64, ())


@pytest.fixture(params=LAYOUTS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(kind: str, wire: Wire) -> tuple[Uart, Layout, list[str]]:
    checks: list[str] = []
    uart = UART_KINDS[kind](console(kind), wire, lambda: checks.append("checked"))
    return uart, LAYOUTS[kind], checks


def start(uart: Uart, layout: Layout, extra: int = 0) -> None:
    uart.write(layout.baud, layout.divisor)
    uart.write(layout.control, layout.enable | extra)


def test_every_kind_of_a_board_is_tested() -> None:
    others = {"stm32_lpuart", "pl011", "nxp_lpuart", "nrf_uart", "nrf_uarte"}
    assert set(UART_KINDS) == {*LAYOUTS, *others}, "the others in test_boards_uarts.py"


def test_sends(kind: str) -> None:
    wire = Wire(8)
    uart, layout, checks = make(kind, wire)
    start(uart, layout)
    assert uart.read(layout.status) == layout.idle
    assert uart.read(layout.status) & layout.can_send == layout.can_send
    for value in b"hi":
        uart.write(layout.send, value)
    assert bytes(wire.outgoing) == b"hi"
    assert checks == ["checked"], "checked before the first byte, and not again"


def test_receives(kind: str) -> None:
    wire = Wire(8)
    uart, layout, _ = make(kind, wire)
    wire.incoming.extend(b"ab")
    assert uart.read(layout.status) & layout.has_byte == 0, "the receiver is off"
    start(uart, layout)
    assert not uart.interrupts()
    for value in b"ab":
        assert uart.read(layout.status) & layout.has_byte
        assert uart.read(layout.receive) == value
    assert uart.read(layout.status) & layout.has_byte == 0
    assert uart.read(layout.receive) == 0


def test_interrupt_follows_the_waiting_byte(kind: str) -> None:
    wire = Wire(8)
    uart, layout, _ = make(kind, wire)
    start(uart, layout, layout.interrupt)
    assert not uart.interrupts()
    wire.incoming.append(7)
    assert uart.interrupts()
    uart.read(layout.receive)
    assert not uart.interrupts()


def test_interrupt_driven_reception_comes_in_bursts(kind: str) -> None:
    wire = Wire(2)
    uart, layout, _ = make(kind, wire)
    start(uart, layout, layout.interrupt)
    wire.incoming.extend(b"abc")
    assert uart.read(layout.receive) == ord("a")
    assert uart.read(layout.receive) == ord("b")
    assert not uart.interrupts()
    assert uart.read(layout.status) & layout.has_byte == 0
    wire.renew()
    assert uart.interrupts()
    assert uart.read(layout.receive) == ord("c")


def test_polled_reception_has_no_limit(kind: str) -> None:
    wire = Wire(2)
    uart, layout, _ = make(kind, wire)
    start(uart, layout)
    wire.incoming.extend(b"abcdef")
    assert bytes(uart.read(layout.receive) for _ in range(6)) == b"abcdef"


def test_sending_with_the_transmitter_off(kind: str) -> None:
    uart, layout, _ = make(kind, Wire(8))
    uart.write(layout.baud, layout.divisor)
    with pytest.raises(RunnerError) as caught:
        uart.write(layout.send, 65)
    assert caught.value.what == (
        "the firmware sends before it has enabled the transmitter on USART9"
    )
    assert caught.value.where == f"USART9 at 0x40011000 ({kind})"
    assert caught.value.fix == "enable the UART, then write data"


def test_wrong_divisor(kind: str) -> None:
    wire = Wire(8)
    uart, layout, _ = make(kind, wire)
    start(uart, layout)
    uart.write(layout.send, 65)
    uart.write(layout.baud, 139)
    with pytest.raises(RunnerError) as caught:
        uart.write(layout.send, 65)
    assert caught.value.what == (
        "the firmware sends at 172662 baud where the console has 115200 on USART9"
    )
    assert caught.value.fix == (
        "the divisor must be 208 for a UART clock of 24000000 Hz; it is 139"
    )
    wire.incoming.append(1)
    with pytest.raises(RunnerError, match="receives at 172662 baud"):
        uart.read(layout.receive)


def test_no_divisor(kind: str) -> None:
    uart, layout, _ = make(kind, Wire(8))
    uart.write(layout.control, layout.enable)
    with pytest.raises(RunnerError, match="sends at no baud where the console has 115200"):
        uart.write(layout.send, 65)


def test_divisor_within_what_a_line_bears(kind: str) -> None:
    for divisor, works in ((203, False), (204, True), (212, True), (214, False)):
        uart, layout, _ = make(kind, Wire(8))
        uart.write(layout.baud, divisor)
        uart.write(layout.control, layout.enable)
        if works:
            uart.write(layout.send, 65)
        else:
            with pytest.raises(RunnerError, match="baud where the console has"):
                uart.write(layout.send, 65)


def test_transmit_interrupt_is_refused(kind: str) -> None:
    uart, layout, _ = make(kind, Wire(8))
    with pytest.raises(RunnerError) as caught:
        start(uart, layout, layout.transmit_interrupt)
    assert caught.value.what == "the firmware switches on a transmit interrupt on USART9"
    assert caught.value.fix == (
        "the Unicorn runner delivers the receive interrupt alone: send by polling, or run with "
        "--on qemu"
    )


@pytest.mark.parametrize(
    ("kind", "register"), [("stm32_usart_v1", 0xD0), ("stm32_usart_v3", 0x1A0)]
)
def test_oversampling_by_8_halves_the_divisor(kind: str, register: int) -> None:
    """BRR for 115200 baud from 12 MHz is 104: 13 · 8 of v1, 208 / 2 of v3."""
    half = Console("USART9", kind, 0x40011000, 37, 115200, 12_000_000, 16_000_000, 64, ())
    wire = Wire(8)
    uart = UART_KINDS[kind](half, wire, lambda: None)
    layout = LAYOUTS[kind]
    uart.write(layout.baud, register if kind == "stm32_usart_v1" else 208)
    uart.write(layout.control, layout.enable | 1 << 15)
    uart.write(layout.send, 65)
    assert list(wire.outgoing) == [65]


def test_small_divisor_of_the_cmsdk_uart_stops_it() -> None:
    fast = Console("UART0", "cmsdk_apb_uart", 0x40004000, 0, 1_000_000, 15_000_000, 1, 64, ())
    uart = UART_KINDS["cmsdk_apb_uart"](fast, Wire(8), lambda: None)
    uart.write(0x10, 15)
    uart.write(0x08, 3)
    with pytest.raises(RunnerError, match="sends at no baud"):
        uart.write(0x00, 65)


def test_registers_read_back(kind: str) -> None:
    uart, layout, _ = make(kind, Wire(8))
    start(uart, layout)
    assert uart.read(layout.baud) == layout.divisor
    assert uart.read(layout.control) == layout.enable
