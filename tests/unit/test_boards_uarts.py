"""The UART models of the newer kinds, by the register writes that the vendors' manuals ask for."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from uhost.config.board import Console
from uhost.errors import RunnerError
from uhost.runners._unicorn_uart import UART_KINDS, NrfUarte, Uart, Wire

CLOCK_HZ = 24_000_000
Writes = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Kind:
    """How one kind is set to 115200 baud from 24 MHz, started, and used."""

    rate: Writes
    wrong_rate: Writes
    enable: Writes
    interrupt: Writes
    transmit_interrupt: Writes
    send: int
    receive: int
    status: int
    has_byte: int
    inverted: bool = False


NRF_RATE, NRF_WRONG = ((0x524, 0x01D7E000),), ((0x524, 0x00EBF000),)
KINDS = {
    "stm32_lpuart": Kind(
        ((0x0C, 53333),), ((0x0C, 208),), ((0x00, 0xD),), ((0x00, 0x2D),), ((0x00, 0x8D),),
        send=0x28, receive=0x24, status=0x1C, has_byte=0x20,
    ),
    "pl011": Kind(
        ((0x24, 13), (0x28, 1), (0x2C, 0x70)), ((0x24, 6), (0x28, 0), (0x2C, 0x70)),
        ((0x30, 0x301),), ((0x38, 0x50),), ((0x38, 0x20),),
        send=0x00, receive=0x00, status=0x18, has_byte=0x10, inverted=True,
    ),
    "nxp_lpuart": Kind(
        ((0x10, 0x0F00000D),), ((0x10, 0x0F00000B),), ((0x18, 0xC0000),), ((0x18, 0x2C0000),),
        ((0x18, 0x8C0000),), send=0x1C, receive=0x1C, status=0x14, has_byte=1 << 21,
    ),
    "nrf_uart": Kind(
        NRF_RATE, NRF_WRONG, ((0x500, 4), (0x008, 1), (0x000, 1)), ((0x304, 4),), ((0x304, 0x80),),
        send=0x51C, receive=0x518, status=0x108, has_byte=1,
    ),
}  # fmt: skip


@pytest.fixture(params=KINDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(name: str, wire: Wire) -> tuple[Uart, list[str]]:
    checks: list[str] = []
    console = Console("UART9", name, 0x40002000, 2, 115200, CLOCK_HZ, CLOCK_HZ, 64, ())
    return UART_KINDS[name](console, wire, lambda: checks.append("checked")), checks


def write(uart: Uart, *groups: Writes) -> None:
    for group in groups:
        for offset, value in group:
            uart.write(offset, value)


def waits(uart: Uart, kind: Kind) -> bool:
    return bool(uart.read(kind.status) & kind.has_byte) is not kind.inverted


def test_sends_and_receives(name: str) -> None:
    kind, wire = KINDS[name], Wire(8)
    uart, checks = make(name, wire)
    write(uart, kind.rate, kind.enable)
    for value in b"hi":
        uart.write(kind.send, value)
    assert bytes(wire.outgoing) == b"hi"
    assert checks == ["checked"]
    wire.incoming.extend(b"ab")
    for value in b"ab":
        assert waits(uart, kind)
        assert uart.read(kind.receive) == value
    assert not waits(uart, kind)
    assert uart.read(kind.receive) == 0


def test_a_receiver_that_is_off_has_no_byte(name: str) -> None:
    kind, wire = KINDS[name], Wire(8)
    uart, _ = make(name, wire)
    wire.incoming.append(1)
    assert not waits(uart, kind)


def test_interrupts_in_bursts(name: str) -> None:
    kind, wire = KINDS[name], Wire(2)
    uart, _ = make(name, wire)
    write(uart, kind.rate, kind.enable, kind.interrupt)
    assert not uart.interrupts()
    wire.incoming.extend(b"abc")
    assert uart.interrupts()
    assert [uart.read(kind.receive), uart.read(kind.receive)] == [ord("a"), ord("b")]
    assert not uart.interrupts()
    wire.renew()
    assert uart.interrupts()
    assert uart.read(kind.receive) == ord("c")


def test_what_a_terminal_would_not_understand_is_refused(name: str) -> None:
    kind = KINDS[name]
    off, _ = make(name, Wire(8))
    write(off, kind.rate)
    with pytest.raises(RunnerError, match="sends before it has enabled the transmitter on UART9"):
        off.write(kind.send, 65)
    wrong, _ = make(name, Wire(8))
    write(wrong, kind.wrong_rate, kind.enable)
    with pytest.raises(RunnerError, match=r"sends at \d+ baud where the console has 115200"):
        wrong.write(kind.send, 65)
    unset, _ = make(name, Wire(8))
    write(unset, kind.enable)
    with pytest.raises(RunnerError, match="sends at no baud where the console has 115200"):
        unset.write(kind.send, 65)


def test_a_transmit_interrupt_is_refused(name: str) -> None:
    kind = KINDS[name]
    uart, _ = make(name, Wire(8))
    with pytest.raises(RunnerError, match="switches on a transmit interrupt on UART9"):
        write(uart, kind.rate, kind.enable, kind.transmit_interrupt)


def test_the_divisor_of_a_pl011_takes_effect_with_its_line_control() -> None:
    uart, _ = make("pl011", Wire(8))
    write(uart, KINDS["pl011"].rate, KINDS["pl011"].enable)
    write(uart, ((0x24, 6), (0x28, 0)))
    uart.write(0x00, 65)
    uart.write(0x2C, 0x70)
    with pytest.raises(RunnerError, match="sends at 250000 baud"):
        uart.write(0x00, 65)


def test_the_nrf_uart_stops_and_clears_its_interrupt() -> None:
    wire = Wire(8)
    uart, _ = make("nrf_uart", wire)
    write(uart, KINDS["nrf_uart"].rate, KINDS["nrf_uart"].enable, KINDS["nrf_uart"].interrupt)
    wire.incoming.append(1)
    assert uart.interrupts()
    assert uart.read(0x308) == 4
    uart.write(0x308, 4)
    assert not uart.interrupts()
    assert uart.read(0x308) == 0
    uart.write(0x00C, 1)
    with pytest.raises(RunnerError, match="enabled the transmitter"):
        uart.write(0x51C, 65)
    uart.write(0x004, 1)
    assert uart.read(0x108) == 0
    uart.write(0x008, 1)
    uart.write(0x51C, 65)
    assert uart.read(0x11C) == 1


# ---- DMA --------------------------------------------------------------------------------------


def dma(wire: Wire) -> tuple[NrfUarte, bytearray]:
    memory = bytearray(8)
    uart, _ = make("nrf_uarte", wire)
    assert isinstance(uart, NrfUarte)
    uart.connect(lambda address: memory[address], memory.__setitem__)
    write(uart, ((0x524, 0x01D60000), (0x500, 8), (0x534, 2), (0x538, 1), (0x544, 5), (0x548, 1)))
    return uart, memory


def test_the_uarte_sends_from_memory() -> None:
    wire = Wire(8)
    uart, memory = dma(wire)
    memory[5] = 65
    uart.write(0x120, 0)
    assert uart.read(0x120) == 0
    uart.write(0x008, 1)
    assert list(wire.outgoing) == [65]
    assert uart.read(0x120) == 1


def test_the_uarte_receives_one_byte_for_each_start() -> None:
    wire = Wire(8)
    uart, memory = dma(wire)
    uart.write(0x304, 1 << 4)
    wire.incoming.extend(b"ab")
    assert not uart.interrupts(), "not started"
    uart.write(0x000, 1)
    assert uart.interrupts()
    assert memory[2] == ord("a")
    uart.write(0x110, 0)
    assert not uart.interrupts(), "not started again"
    uart.write(0x000, 1)
    assert uart.read(0x110) == 1
    assert memory[2] == ord("b")


def test_the_uarte_moves_one_byte_at_a_time() -> None:
    wire = Wire(8)
    uart, _ = dma(wire)
    uart.write(0x548, 2)
    with pytest.raises(RunnerError) as caught:
        uart.write(0x008, 1)
    assert caught.value.what == "the firmware sends 2 bytes at once on UART9"
    assert caught.value.fix == "the Unicorn runner moves one byte in a transfer: set MAXCNT to 1"
    with pytest.raises(RunnerError, match="switches on a transmit interrupt"):
        uart.write(0x304, 1 << 8)
