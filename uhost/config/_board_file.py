"""The keys of board and chip files.

A chip file says what every board with that chip shares; a board file says the rest.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

U32: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFFFF)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=0xFFFFFFFF)]
UsbId: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{4}:[0-9a-f]{4}$")]
RegionKind: TypeAlias = Literal["flash", "ram", "tcm", "ccm", "external"]


class SetStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="set"):
    """register |= mask."""

    register: str
    mask: U32


class ClearStep(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="clear"
):
    """register &= ~mask."""

    register: str
    mask: U32


class ModifyStep(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="modify"
):
    """register = (register & ~mask) | value."""

    register: str
    mask: U32
    value: U32


class WriteStep(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="write"
):
    """register = value."""

    register: str
    value: U32


class WaitStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="wait"):
    """Polls until (register & mask) == value, a bounded number of times."""

    register: str
    mask: U32
    value: U32


class UseStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="use"):
    """The steps of a sequence that the chip file names."""

    sequence: str


RegisterStep: TypeAlias = SetStep | ClearStep | ModifyStep | WriteStep | WaitStep
BoardStep: TypeAlias = RegisterStep | UseStep


class TargetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The CPU: a file of `uhost/targets`, a CPU of it, and the FPU the chip has."""

    kind: str
    fpu: Literal["none", "single", "double"]
    cpu: str = ""


class BankFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a region; banks follow one another without gaps."""

    name: str
    size_kib: Positive


class RegionFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory region as the CPU sees it; of flash, the sizes of its erase sectors in order."""

    name: str
    start: U32
    size_kib: Positive
    kind: RegionKind
    banks: tuple[BankFile, ...] = ()
    sectors_kib: tuple[Positive, ...] = ()


class ChipClockFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The clock at reset, its limit, and what each bus divides the core clock by."""

    reset_hz: Positive
    max_hz: Positive
    bus_dividers: dict[str, object] = {}


class SequenceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Register steps under a name, for boards to use."""

    name: str
    steps: tuple[RegisterStep, ...]


class UartFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A UART of the chip; `kind` names the driver `firmware/hal/uart_<kind>.c`.

    It is clocked by a bus, or at a fixed `clock_hz` of its own, also at reset.
    """

    name: str
    kind: str
    base: U32
    irq: Annotated[int, msgspec.Meta(ge=0, le=495)]
    bus: str = "core"
    clock_hz: Positive | None = None
    enable: tuple[RegisterStep, ...] = ()


class BootFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the chip's ROM looks for in flash; `kind` names `templates/boot_<kind>.c.j2`."""

    kind: str
    at: Literal["start", "vectors"]
    size_bytes: Positive


class BootloaderFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The loader in the chip's ROM, and how to start it."""

    kind: Literal["stm32_an3155", "uf2"]
    enter: str
    console: bool = False
    chip_id: Annotated[int, msgspec.Meta(ge=1, le=0xFFFF)] | None = None
    family_id: U32 | None = None


class ChipFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of `boards/chips`; those that come with uhost name their default board."""

    description: str
    target: TargetFile
    interrupts: Annotated[int, msgspec.Meta(ge=1, le=496)]
    memory: tuple[RegionFile, ...]
    flash: str
    ram: str
    clock: ChipClockFile
    uarts: tuple[UartFile, ...]
    sources: tuple[str, ...]
    default_board: str = ""
    caches: bool = False
    cycle_counter: Literal["dwt", "mcycle", "none"] = "none"
    plic: U32 | None = None
    boot: BootFile | None = None
    registers: dict[str, object] = {}
    sequences: tuple[SequenceFile, ...] = ()


class BoardClockFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The core clock after start-up and the steps that lead to it from reset."""

    hz: Positive
    steps: tuple[BoardStep, ...] = ()


class ConsoleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The UART that carries the RPC, and the steps that connect its pins."""

    uart: str
    baud: Positive
    pins: tuple[BoardStep, ...] = ()
    receive_bytes: Positive | None = None


class QemuFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The QEMU machine; `serial` is the index of the console among its serial ports."""

    machine: str
    serial: Annotated[int, msgspec.Meta(ge=0, le=15)] = 0
    options: tuple[str, ...] = ()


class RenodeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The Renode platform, the console's name in it, and lines to add to it."""

    platform: str
    uart: str
    overlay: tuple[str, ...] = ()
    cpu: str = "cpu"


class OpenocdFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration files OpenOCD needs, in order."""

    configs: tuple[str, ...]


class PyocdFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The target as pyOCD names it."""

    target: str


class JlinkFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The device as SEGGER names it."""

    device: str


class BoardFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of `boards`: with a chip an embedded board, with a target alone a host."""

    description: str
    runners: tuple[str, ...]
    verified: tuple[str, ...]
    chip: str | None = None
    target: TargetFile | None = None
    clock: BoardClockFile | None = None
    console: ConsoleFile | None = None
    stack_bytes: Positive | None = None
    registers: dict[str, object] = {}
    qemu: QemuFile | None = None
    renode: RenodeFile | None = None
    openocd: OpenocdFile | None = None
    pyocd: PyocdFile | None = None
    stlink: bool = False
    jlink: JlinkFile | None = None
    bootloader: BootloaderFile | None = None
    usb: tuple[UsbId, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
