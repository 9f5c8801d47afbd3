"""The rules between the values of board and chip files.

The structs of `_board_file` check each value; these functions check values against one
another. Every complaint is a `BoardError` that names file, line and key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from uhost import resources
from uhost.config._board_file import (
    BoardFile,
    BoardStep,
    ChipFile,
    ModifyStep,
    UseStep,
    WaitStep,
)
from uhost.config._yaml import Key, YamlFile, nearest

MIN_DIVISOR = 16
"""A UART samples a bit 16 times, unless its kind is made for slow clocks."""
NRF_BAUDS = (9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600, 1000000)
"""The rates that Nordic's manuals give register values for."""
MAX_BAUD_ERROR = 0.025
"""What two ends may differ by and still agree on the tenth bit of a frame, with margin."""
MIN_STACK_BYTES = 1024
STACK_ALIGNMENT_BYTES = 8
MIN_CLOCK_HZ = 1_000_000
MAX_CLOCK_HZ = 2_000_000_000


def uart_kinds() -> tuple[str, ...]:
    """Returns the UART kinds that have a driver."""
    drivers = (resources.folder("firmware") / "hal").glob("uart_*.c")
    return tuple(sorted(driver.stem.removeprefix("uart_") for driver in drivers))


def boot_kinds() -> tuple[str, ...]:
    """Returns the kinds of boot blocks that have a template."""
    templates = resources.folder("templates").glob("boot_*.c.j2")
    return tuple(sorted(path.name[len("boot_") : -len(".c.j2")] for path in templates))


def vector_alignment(vector_count: int) -> int:
    """Returns the alignment in bytes that VTOR asks of a table: a power of two, at least 128."""
    return max(128, 1 << (4 * vector_count - 1).bit_length())


def integers(file: YamlFile[ChipFile] | YamlFile[BoardFile], keys: Sequence[Key]) -> dict[str, int]:
    """Returns the mapping at `keys` (`registers` or `clock.bus_dividers`), its values checked."""
    mapping: object = file.value
    for key in keys:
        mapping = getattr(mapping, str(key))
    assert isinstance(mapping, dict)
    for name, value in mapping.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
            raise file.error(
                (*keys, name), f"wrong value: {value!r}", "expected an integer from 0 to 4294967295"
            )
    return mapping


def check_chip(file: YamlFile[ChipFile]) -> None:
    """Raises `BoardError` when a chip's values contradict one another."""
    chip = file.value
    _check_names(file, "memory", [region.name for region in chip.memory])
    _check_names(file, "uarts", [uart.name for uart in chip.uarts])
    _check_names(file, "sequences", [sequence.name for sequence in chip.sequences])
    _check_regions(file)
    _check_linked(file, "flash", chip.flash)
    _check_linked(file, "ram", chip.ram)
    flash = next(region for region in chip.memory if region.name == chip.flash)
    alignment = vector_alignment(16 + chip.interrupts)
    before_bytes = chip.boot.size_bytes if chip.boot and chip.boot.at == "start" else 0
    if (flash.start + before_bytes) % alignment:
        raise file.error(
            ("memory", chip.memory.index(flash), "start"),
            f"the vector table of {16 + chip.interrupts} entries would not be aligned",
            f"start the region at a multiple of {alignment} bytes",
        )
    _check_start(file)
    if not MIN_CLOCK_HZ <= chip.clock.reset_hz <= chip.clock.max_hz <= MAX_CLOCK_HZ:
        raise file.error(
            ("clock", "reset_hz"),
            f"implausible clock: {chip.clock.reset_hz} Hz at reset, at most {chip.clock.max_hz} Hz",
            f"give frequencies in Hz from {MIN_CLOCK_HZ} to {MAX_CLOCK_HZ}, reset_hz <= max_hz",
        )
    registers = integers(file, ("registers",))
    for name, address in registers.items():
        if address % 4:
            raise file.error(
                ("registers", name),
                f"the register address 0x{address:08x} is not a multiple of 4",
                "give the address of a 32-bit register",
            )
    for i, sequence in enumerate(chip.sequences):
        check_steps(file, ("sequences", i, "steps"), sequence.steps, tuple(registers), ())
    buses = ("core", *integers(file, ("clock", "bus_dividers")))
    for bus, divider in integers(file, ("clock", "bus_dividers")).items():
        if not 1 <= divider <= 1024:
            raise file.error(
                ("clock", "bus_dividers", bus),
                f"implausible bus divider: {divider}",
                "give what the core clock is divided by, from 1 to 1024",
            )
    for i, uart in enumerate(chip.uarts):
        check_known(file, ("uarts", i, "kind"), "UART kind", uart.kind, uart_kinds())
        check_known(file, ("uarts", i, "bus"), "bus", uart.bus, buses)
        if uart.irq >= chip.interrupts:
            raise file.error(
                ("uarts", i, "irq"),
                f"the chip has no interrupt {uart.irq}: it has {chip.interrupts}",
                f"give a number from 0 to {chip.interrupts - 1}",
            )
        check_steps(file, ("uarts", i, "enable"), uart.enable, tuple(registers), ())


def _check_start(file: YamlFile[ChipFile]) -> None:
    """Raises for a boot block nobody can print, and where the interrupt controller is unclear."""
    chip = file.value
    if chip.boot is not None:
        check_known(file, ("boot", "kind"), "boot block", chip.boot.kind, boot_kinds())
    if (chip.target.kind == "riscv") != (chip.plic is not None):
        raise file.error(
            ("plic",),
            "a riscv chip, and no other, has its interrupts from a PLIC",
            "add 'plic:' with its address, or remove the key",
        )


def check_steps(
    file: YamlFile[ChipFile] | YamlFile[BoardFile],
    keys: Sequence[Key],
    steps: Sequence[BoardStep],
    registers: Sequence[str],
    sequences: Sequence[str],
) -> None:
    """Raises `BoardError` for a step that names what is not there or sets bits off its mask."""
    for i, step in enumerate(steps):
        if isinstance(step, UseStep):
            check_known(file, (*keys, i, "sequence"), "sequence", step.sequence, sequences)
            continue
        check_known(file, (*keys, i, "register"), "register", step.register, registers)
        if isinstance(step, ModifyStep | WaitStep) and step.value & ~step.mask:
            raise file.error(
                (*keys, i, "value"),
                f"the value 0x{step.value:08x} has bits outside the mask 0x{step.mask:08x}",
                "widen the mask or correct the value",
            )


def check_known(
    file: YamlFile[ChipFile] | YamlFile[BoardFile],
    keys: Sequence[Key],
    noun: str,
    name: str,
    known: Sequence[str],
) -> None:
    """Raises `BoardError` when `name` is not one of `known`."""
    if name not in known:
        raise file.error(
            keys,
            f"there is no {noun} '{name}'",
            f"{nearest(name, known)}known: {', '.join(known) or 'none'}",
        )


def _check_names(file: YamlFile[ChipFile], key: str, names: Sequence[str]) -> None:
    for i, name in enumerate(names):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise file.error(
                (key, i, "name"), f"'{name}' is not a name", "use letters, digits and underscores"
            )
        if name in names[:i]:
            raise file.error((key, i, "name"), f"the name '{name}' occurs twice", "rename one")


def _check_regions(file: YamlFile[ChipFile]) -> None:
    regions = file.value.memory
    for i, region in enumerate(regions):
        end = region.start + region.size_kib * 1024
        if end > 1 << 32:
            raise file.error(
                ("memory", i), f"the region '{region.name}' ends above 4 GiB", "correct its size"
            )
        total = sum(bank.size_kib for bank in region.banks)
        if region.banks and total != region.size_kib:
            raise file.error(
                ("memory", i, "banks"),
                f"the banks of '{region.name}' add up to {total} KiB, the region has "
                f"{region.size_kib} KiB",
                "correct the sizes",
            )
        total = sum(region.sectors_kib)
        if region.sectors_kib and (region.kind != "flash" or total != region.size_kib):
            raise file.error(
                ("memory", i, "sectors_kib"),
                f"the erase sectors of '{region.name}' add up to {total} KiB, the region is "
                f"{region.size_kib} KiB of {region.kind}",
                "correct the sizes; only flash has sectors",
            )
        for other in regions[:i]:
            if region.start < other.start + other.size_kib * 1024 and other.start < end:
                raise file.error(
                    ("memory", i),
                    f"the region '{region.name}' overlaps '{other.name}'",
                    "correct start or size_kib",
                )


def _check_linked(file: YamlFile[ChipFile], kind: str, name: str) -> None:
    """Raises unless the region `name` exists and is of the kind the linker needs."""
    check_known(file, (kind,), "region", name, [region.name for region in file.value.memory])
    region = next(region for region in file.value.memory if region.name == name)
    if region.kind != kind:
        raise file.error(
            (kind,),
            f"the region '{name}' is of kind '{region.kind}', expected '{kind}'",
            f"name a region of kind '{kind}'",
        )


def check_console(
    file: YamlFile[BoardFile], kind: str, baud: int, clocks_hz: Sequence[int]
) -> None:
    """Raises `BoardError` when a UART clocked at any of `clocks_hz` cannot make `baud`."""
    for clock_hz in clocks_hz:
        actual = actual_baud(kind, clock_hz, baud)
        if abs(actual / baud - 1) > MAX_BAUD_ERROR:
            raise file.error(
                ("console", "baud"),
                f"a {kind} clocked at {clock_hz} Hz cannot make {baud} baud",
                _possible_bauds(kind, clock_hz),
            )


def actual_baud(kind: str, clock_hz: int, baud: int) -> float:
    """Returns the rate nearest to `baud` that a UART of the kind makes; 0 where it makes none."""
    if kind in ("nrf_uart", "nrf_uarte"):
        return baud if baud in NRF_BAUDS else 0
    if kind == "stm32_lpuart":
        divisor = round(256 * clock_hz / baud)
        return 256 * clock_hz / divisor if 0x300 <= divisor <= 0xFFFFF else 0
    step = 16 if kind in ("nxp_lpuart", "ns16550") else 1
    divisor = step * round(clock_hz / (step * baud))
    return clock_hz / divisor if divisor >= MIN_DIVISOR else 0


def _possible_bauds(kind: str, clock_hz: int) -> str:
    if kind in ("nrf_uart", "nrf_uarte"):
        return f"give one of: {', '.join(map(str, NRF_BAUDS))}"
    least = 3 if kind == "stm32_lpuart" else MIN_DIVISOR
    return f"give at most {clock_hz // least} baud, within 2.5 % of a divisor"


def own_registers(file: YamlFile[BoardFile], chip: YamlFile[ChipFile]) -> dict[str, int]:
    """Returns the registers a board adds; it may not give a chip's register another address."""
    own = integers(file, ("registers",))
    for name, address in own.items():
        if chip.value.registers.get(name, address) != address:
            raise file.error(
                ("registers", name),
                f"the chip gives the register '{name}' another address",
                "remove or rename it",
            )
        if address % 4:
            raise file.error(
                ("registers", name),
                f"the register address 0x{address:08x} is not a multiple of 4",
                "give the address of a 32-bit register",
            )
    return own


def check_stack(file: YamlFile[BoardFile], stack_bytes: int, ram_bytes: int) -> None:
    """Raises `BoardError` for a stack that is misaligned or implausible."""
    if stack_bytes % STACK_ALIGNMENT_BYTES:
        raise file.error(
            ("stack_bytes",),
            f"the stack size {stack_bytes} is not a multiple of {STACK_ALIGNMENT_BYTES} bytes",
            "round it up",
        )
    if not MIN_STACK_BYTES <= stack_bytes < ram_bytes:
        raise file.error(
            ("stack_bytes",),
            f"implausible stack size: {stack_bytes} bytes",
            f"give from {MIN_STACK_BYTES} to less than the {ram_bytes} bytes of RAM",
        )


def check_clock(file: YamlFile[BoardFile], chip: ChipFile) -> None:
    """Raises `BoardError` for a clock the chip cannot run at or no step leads to."""
    clock = file.value.clock
    assert clock is not None
    if not MIN_CLOCK_HZ <= clock.hz <= chip.clock.max_hz:
        raise file.error(
            ("clock", "hz"),
            f"the clock of {clock.hz} Hz is out of the chip's range",
            f"give Hz, from {MIN_CLOCK_HZ} to {chip.clock.max_hz}",
        )
    if not clock.steps and clock.hz != chip.clock.reset_hz:
        raise file.error(
            ("clock", "hz"),
            f"no steps lead from {chip.clock.reset_hz} Hz at reset to {clock.hz} Hz",
            "add 'steps:', or give the clock at reset",
        )
