"""Memory-mapped registers as the Unicorn runner models them: peripherals and system control."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from uhost.config.board import Step
from uhost.errors import DeviceFault, RunnerError
from uhost.runners._unicorn_uart import Uart


class Registers:
    """Word registers behind an address range, with byte and halfword access.

    Subclasses give meaning to single words; all others are plain storage.
    """

    def __init__(self, base: int) -> None:
        self._base = base
        self._words: dict[int, int] = {}

    def read(self, offset: int, size: int) -> int:
        """Returns `size` bytes at `offset` from the range's base."""
        address = self._base + offset
        shift = 8 * (address & 3)
        return (self.read_word(address & ~3) >> shift) & ((1 << 8 * size) - 1)

    def write(self, offset: int, size: int, value: int) -> None:
        """Writes `size` bytes at `offset` from the range's base."""
        address = self._base + offset
        word = address & ~3
        if size < 4:
            shift = 8 * (address & 3)
            mask = ((1 << 8 * size) - 1) << shift
            value = (self._words.get(word, 0) & ~mask) | (value << shift & mask)
        self.write_word(word, value)

    def read_word(self, address: int) -> int:
        """Returns the register at `address`."""
        return self._words.get(address, 0)

    def write_word(self, address: int, value: int) -> None:
        """Writes the register at `address`."""
        self._words[address] = value


class Peripherals(Registers):
    """The peripheral space: the console's UART, the clock tree's ready bits, plain storage.

    `waits` are the start-up steps that poll a status bit; it reads as they expect, since
    simulated oscillators start at once.
    """

    def __init__(
        self,
        base: int,
        uart: Uart,
        uart_base: int,
        waits: Iterable[Step],
        uart_bytes: int = 0x400,
    ) -> None:
        super().__init__(base)
        self._uart_bytes = uart_bytes
        self._uart = uart
        self._uart_base = uart_base
        self._ready: dict[int, tuple[int, int]] = {}
        for step in waits:
            mask, value = self._ready.get(step.address, (0, 0))
            self._ready[step.address] = (mask | step.mask, value & ~step.mask | step.value)

    def read_word(self, address: int) -> int:
        """Returns the register at `address`."""
        offset = address - self._uart_base
        if 0 <= offset < self._uart_bytes:
            return self._uart.read(offset)
        mask, value = self._ready.get(address, (0, 0))
        return super().read_word(address) & ~mask | value

    def write_word(self, address: int, value: int) -> None:
        """Writes the register at `address`."""
        offset = address - self._uart_base
        if 0 <= offset < self._uart_bytes:
            self._uart.write(offset, value)
        super().write_word(address, value)  # of the UART too: start-up may connect its pins

    def check_done(self, steps: Iterable[Step]) -> None:
        """Raises `RunnerError` unless the registers hold what `steps` leave in them."""
        expected: dict[int, tuple[str, int, int]] = {}
        for step in steps:
            if step.op != "wait":
                _, mask, value = expected.get(step.address, ("", 0, 0))
                value = value & ~step.mask | step.value
                expected[step.address] = (step.register, mask | step.mask, value)
        for address, (name, mask, value) in expected.items():
            actual = super().read_word(address)
            if actual & mask != value:
                raise RunnerError(
                    "the firmware uses the UART before it has set up its clock and pins",
                    where=f"{name} at 0x{address:08x} is 0x{actual:08x}",
                    fix=f"the bits 0x{mask:08x} must be 0x{value:08x}",
                )


class SystemRegisters(Registers):
    """The private peripheral bus: NVIC and system control block (Armv7-M, B3.2 and B3.4).

    There is no cycle counter: Unicorn counts no cycles, so DEMCR and DWT read as zero,
    from which firmware sees that CYCCNT is absent. SysTick does not run.
    """

    SYST_CSR, SYST_CVR = 0xE000E010, 0xE000E018
    ISER, ICER, ISPR, ICPR, IPR = 0xE000E100, 0xE000E180, 0xE000E200, 0xE000E280, 0xE000E400
    ICSR, VTOR, AIRCR, CCR = 0xE000ED04, 0xE000ED08, 0xE000ED0C, 0xE000ED14
    SHCSR, CFSR, HFSR, MMFAR, BFAR = 0xE000ED24, 0xE000ED28, 0xE000ED2C, 0xE000ED34, 0xE000ED38
    CPACR, DEMCR, STIR = 0xE000ED88, 0xE000EDFC, 0xE000EF00
    DWT, DWT_END = 0xE0001000, 0xE0002000

    _NVIC_BANK_BYTES = 0x80
    _STKALIGN = 1 << 9
    _PEND_ANY = 1 << 31 | 1 << 28 | 1 << 26

    def __init__(self, base: int, vector_table: int, active_exception: Callable[[], int]) -> None:
        super().__init__(base)
        self._words.update({self.VTOR: vector_table, self.CCR: self._STKALIGN})
        self._enabled: dict[int, int] = {}
        self._active_exception = active_exception

    def read_word(self, address: int) -> int:
        """Returns the register at `address`."""
        for bank in (self.ISER, self.ICER):
            if bank <= address < bank + self._NVIC_BANK_BYTES:
                return self._enabled.get(address - bank, 0)
        if address == self.ICSR:
            return self._active_exception()
        return super().read_word(address)

    def write_word(self, address: int, value: int) -> None:
        """Writes the register at `address`; raises for what the runner does not model."""
        if self.ISER <= address < self.ISER + self._NVIC_BANK_BYTES:
            self._enabled[address - self.ISER] = self._enabled.get(address - self.ISER, 0) | value
        elif self.ICER <= address < self.ICER + self._NVIC_BANK_BYTES:
            self._enabled[address - self.ICER] = self._enabled.get(address - self.ICER, 0) & ~value
        elif self.ICPR <= address < self.ICPR + self._NVIC_BANK_BYTES:
            pass  # pending follows the UART's interrupt line, which only the UART lowers
        elif address in (self.CFSR, self.HFSR):
            super().write_word(address, super().read_word(address) & ~value)
        elif address == self.SYST_CVR or address == self.DEMCR:
            pass  # a SysTick that does not run stays 0; a DEMCR without trace reads as 0
        elif self.DWT <= address < self.DWT_END:
            pass
        else:
            self._refuse(address, value)
            super().write_word(address, value)

    def _refuse(self, address: int, value: int) -> None:
        pended = address == self.STIR or (
            value and self.ISPR <= address < self.ISPR + self._NVIC_BANK_BYTES
        )
        if pended or (address == self.ICSR and value & self._PEND_ANY):
            raise _not_modelled("sets an exception pending by software", address)
        if address == self.SYST_CSR and value & 3 == 3:
            raise _not_modelled("switches on the SysTick interrupt", address)
        if address == self.AIRCR and value & 4:
            raise DeviceFault(
                "the firmware asked for a system reset",
                where=f"AIRCR.SYSRESETREQ at 0x{address:08x}",
                fix="find what makes the firmware give up",
            )

    def enabled(self, irq: int) -> bool:
        """True if the NVIC lets the interrupt `irq` through."""
        return bool(self._enabled.get(irq // 32 * 4, 0) >> irq % 32 & 1)

    def priority(self, irq: int) -> int:
        """Returns the priority byte of the interrupt `irq`."""
        return self.read(self.IPR + irq - self._base, 1)

    def latch(self, address: int, bits: int) -> None:
        """Sets status bits as the hardware does."""
        self._words[address] = self._words.get(address, 0) | bits

    def latch_address(self, address: int) -> None:
        """Sets the address register of bus faults."""
        self._words[self.BFAR] = address


def _not_modelled(deed: str, address: int) -> RunnerError:
    return RunnerError(
        f"the firmware {deed}, which the Unicorn runner does not model",
        where=f"the register at 0x{address:08x}",
        fix="run it with --on qemu",
    )
