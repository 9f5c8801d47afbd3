"""The keys of board and chip files.

A chip file says what every board with that chip shares; a board file says the rest.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

U32: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFFFF)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=0xFFFFFFFF)]
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
    """A memory region as the CPU sees it."""

    name: str
    start: U32
    size_kib: Positive
    kind: RegionKind
    banks: tuple[BankFile, ...] = ()


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
    """A UART of the chip; `kind` names the driver `firmware/hal/uart_<kind>.c`."""

    name: str
    kind: str
    base: U32
    irq: Annotated[int, msgspec.Meta(ge=0, le=495)]
    bus: str = "core"
    enable: tuple[RegisterStep, ...] = ()


class ChipFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of `boards/chips`."""

    description: str
    default_board: str
    target: TargetFile
    interrupts: Annotated[int, msgspec.Meta(ge=1, le=496)]
    memory: tuple[RegionFile, ...]
    flash: str
    ram: str
    clock: ChipClockFile
    uarts: tuple[UartFile, ...]
    sources: tuple[str, ...]
    caches: bool = False
    cycle_counter: Literal["dwt", "none"] = "none"
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
    sources: tuple[str, ...] = ()
