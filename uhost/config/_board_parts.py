"""The parts of a board: memory, start-up steps, console, and what reaches it from outside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bank:
    """A part of a region: banks of one region follow one another without gaps."""

    name: str
    start: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Region:
    """A memory region: `kind` is flash, ram, tcm, ccm (data bus only) or external.

    `sectors_bytes` are the sizes of a flash's erase sectors in order, where they are known.
    """

    name: str
    start: int
    size_bytes: int
    kind: str
    banks: tuple[Bank, ...] = ()
    sectors_bytes: tuple[int, ...] = ()

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.start + self.size_bytes


@dataclass(frozen=True, slots=True)
class Step:
    """One register operation of start-up.

    `op` is set (register |= mask), clear (register &= ~mask), modify (register =
    (register & ~mask) | value), write (register = value) or wait (until
    (register & mask) == value, a bounded number of polls).
    """

    op: str
    register: str
    address: int
    mask: int
    value: int


@dataclass(frozen=True, slots=True)
class Console:
    """The UART that carries the RPC.

    `kind` names the driver and register layout, `irq` the interrupt (of the NVIC, or of
    the PLIC) of reception. `clock_hz` feeds the baud divisor once the board's clock runs,
    `reset_clock_hz` while it does not. `receive_bytes` is the size of the receive ring, a
    power of two. `steps` switch the UART on and connect its pins.
    """

    uart: str
    kind: str
    base: int
    irq: int
    baud: int
    clock_hz: int
    reset_clock_hz: int
    receive_bytes: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Boot:
    """What the chip's ROM wants to see in flash before it starts an image.

    `kind` names `templates/boot_<kind>.c.j2`, whose C fills the section `.boot`. `at` says
    where that goes: `start`, the first `size_bytes` of flash with the vector table behind
    them, or `vectors`, right behind the vector table.
    """

    kind: str
    at: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Qemu:
    """The board's QEMU machine.

    `serial` is the console's index among its serial ports; `options` are further arguments.
    """

    machine: str
    serial: int
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Renode:
    """The board in Renode: a platform as shipped, the console there, and what is added to it.

    `overlay` are lines of a platform description; `cpu` is the core's name in the platform.
    """

    platform: str
    uart: str
    overlay: tuple[str, ...] = ()
    cpu: str = "cpu"


@dataclass(frozen=True, slots=True)
class Bootloader:
    """The loader in the chip's ROM.

    `kind` is `stm32_an3155` (UART, ST AN3155) or `uf2` (a drive that takes UF2 files).
    `enter` says in words how to start it. `console` is true where it listens on the very
    pins of the console. `chip_id` is what an AN3155 loader answers to GET ID, `family_id`
    the number UF2 files for the chip carry; 0 where it does not apply.
    """

    kind: str
    enter: str
    console: bool = False
    chip_id: int = 0
    family_id: int = 0
