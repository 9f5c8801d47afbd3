from __future__ import annotations

import pytest

from uhost.config.board import Step
from uhost.errors import DeviceFault, RunnerError
from uhost.runners._unicorn_registers import Peripherals, Registers, SystemRegisters

BASE = 0x40000000
UART_BASE = 0x40011000


class RecordingUart:
    """A UART that tells what was asked of it."""

    def __init__(self) -> None:
        self.writes: list[tuple[int, int]] = []

    def read(self, offset: int) -> int:
        return 0x1000 + offset

    def write(self, offset: int, value: int) -> None:
        self.writes.append((offset, value))

    def interrupts(self) -> bool:
        return False


def peripherals(*waits: Step) -> tuple[Peripherals, RecordingUart]:
    uart = RecordingUart()
    return Peripherals(BASE, uart, UART_BASE, waits), uart


def system() -> SystemRegisters:
    return SystemRegisters(0xE0000000, 0x08000000, lambda: 5)


def test_words_bytes_and_halfwords() -> None:
    registers = Registers(BASE)
    assert registers.read(0x10, 4) == 0
    registers.write(0x10, 4, 0x11223344)
    registers.write(0x11, 1, 0xAA)
    registers.write(0x12, 2, 0xBBCC)
    assert registers.read(0x10, 4) == 0xBBCCAA44
    assert registers.read(0x13, 1) == 0xBB
    assert registers.read(0x10, 2) == 0xAA44


def test_uart_is_behind_its_base() -> None:
    registers, uart = peripherals()
    registers.write(UART_BASE - BASE + 0x28, 4, 65)
    assert uart.writes == [(0x28, 65)]
    assert registers.read(UART_BASE - BASE + 0x1C, 4) == 0x101C
    registers.write(UART_BASE - BASE + 0x400, 4, 1)
    assert len(uart.writes) == 1, "the next peripheral is not the UART"


def test_polled_bits_are_ready() -> None:
    registers, _ = peripherals(
        Step("wait", "RCC_CR", BASE, 0x2, 0x2),
        Step("wait", "RCC_CR", BASE, 0x2000, 0x2000),
        Step("wait", "RCC_CFGR", BASE + 8, 0xC, 0x8),
    )
    assert registers.read(0, 4) == 0x2002
    registers.write(0, 4, 0x1)
    assert registers.read(0, 4) == 0x2003
    registers.write(8, 4, 0xFFFFFFFF)
    assert registers.read(8, 4) == 0xFFFFFFFB


def test_set_up_is_checked() -> None:
    registers, _ = peripherals()
    steps = (
        Step("set", "RCC_EN", BASE, 0x10, 0x10),
        Step("modify", "MODER", BASE + 4, 0x30, 0x20),
        Step("clear", "MODER", BASE + 4, 0x1, 0),
        Step("wait", "RCC_CR", BASE + 8, 0x1, 0x1),
    )
    registers.write(0, 4, 0x11)
    registers.write(4, 4, 0x31)
    with pytest.raises(RunnerError) as caught:
        registers.check_done(steps)
    assert caught.value.what == (
        "the firmware uses the UART before it has set up its clock and pins"
    )
    assert caught.value.where == "MODER at 0x40000004 is 0x00000031"
    assert caught.value.fix == "the bits 0x00000031 must be 0x00000020"
    registers.write(4, 4, 0xC0)
    with pytest.raises(RunnerError, match="before it has set up"):
        registers.check_done(steps)
    registers.write(4, 4, 0xA4)
    registers.check_done(steps)


def test_a_later_step_overrides_an_earlier_one() -> None:
    registers, _ = peripherals()
    registers.write(0, 4, 0x2)
    registers.check_done(
        (Step("write", "R", BASE, 0xFFFFFFFF, 0x1), Step("modify", "R", BASE, 0x3, 0x2))
    )


def test_interrupt_enables_set_and_clear() -> None:
    registers = system()
    assert not registers.enabled(37)
    registers.write(0xE104, 4, 1 << 5)
    assert registers.enabled(37)
    assert not registers.enabled(5)
    registers.write(0xE104, 4, 1 << 6)
    assert registers.enabled(37)
    assert registers.read(0xE104, 4) == registers.read(0xE184, 4) == 0x60
    registers.write(0xE184, 4, 1 << 5)
    assert not registers.enabled(37)
    assert registers.enabled(38)


def test_interrupt_priority() -> None:
    registers = system()
    registers.write(0xE400 + 37, 1, 0x80)
    assert registers.priority(37) == 0x80
    assert registers.priority(36) == 0


def test_fault_status_is_cleared_by_writing_ones() -> None:
    registers = system()
    registers.latch(registers.CFSR, 0x8200)
    registers.latch(registers.CFSR, 0x10000)
    assert registers.read(0xED28, 4) == 0x18200
    registers.write(0xED28, 4, 0x200)
    assert registers.read(0xED28, 4) == 0x18000
    registers.latch_address(0x1234)
    assert registers.read(0xED38, 4) == 0x1234


def test_vector_table_begins_where_the_image_is() -> None:
    assert system().read(0xED08, 4) == 0x08000000


def test_active_exception_is_shown() -> None:
    assert system().read(0xED04, 4) == 5


def test_no_cycle_counter() -> None:
    registers = system()
    registers.write(0xEDFC, 4, 1 << 24)
    registers.write(0x1000, 4, 1)
    registers.write(0x1004, 4, 99)
    assert registers.read(0xEDFC, 4) == 0
    assert registers.read(0x1000, 4) == registers.read(0x1004, 4) == 0


def test_systick_stands_still() -> None:
    registers = system()
    registers.write(0xE014, 4, 1000)
    registers.write(0xE018, 4, 5)
    registers.write(0xE010, 4, 5)
    assert registers.read(0xE018, 4) == 0


NOT_MODELLED = {
    "switches on the SysTick interrupt": (0xE010, 7),
    "sets an exception pending by software": (0xED04, 1 << 28),
}


@pytest.mark.parametrize("deed", NOT_MODELLED)
def test_what_is_not_modelled_is_refused(deed: str) -> None:
    offset, value = NOT_MODELLED[deed]
    with pytest.raises(RunnerError) as caught:
        system().write(offset, 4, value)
    assert caught.value.what == f"the firmware {deed}, which the Unicorn runner does not model"
    assert caught.value.where == f"the register at 0x{0xE0000000 + offset:08x}"
    assert caught.value.fix == "run it with --on qemu"


@pytest.mark.parametrize("offset", [0xE200, 0xE204, 0xEF00])
def test_pending_interrupts_by_software_is_refused(offset: int) -> None:
    with pytest.raises(RunnerError, match="sets an exception pending by software"):
        system().write(offset, 4, 1)


def test_clearing_pending_interrupts_is_harmless() -> None:
    system().write(0xE280, 4, 0xFFFFFFFF)


def test_reset_request_ends_the_run() -> None:
    with pytest.raises(DeviceFault) as caught:
        system().write(0xED0C, 4, 0x05FA0004)
    assert caught.value.what == "the firmware asked for a system reset"
    assert caught.value.where == "AIRCR.SYSRESETREQ at 0xe000ed0c"
    system().write(0xED0C, 4, 0x05FA0300)
