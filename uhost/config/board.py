"""Board: what an image runs on, read from `boards/NAME.yaml` and its chip's file.

`load_board` accepts a board's name, a chip's name (which stands for the chip's default
board), or the path of a board file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from uhost import resources
from uhost.config._board_checks import (
    check_chip,
    check_clock,
    check_console,
    check_known,
    check_stack,
    check_steps,
    integers,
    own_registers,
    vector_alignment,
)
from uhost.config._board_file import (
    BankFile,
    BoardFile,
    BoardStep,
    ChipFile,
    ClearStep,
    RegisterStep,
    SetStep,
    TargetFile,
    UseStep,
    WriteStep,
)
from uhost.config._board_parts import (
    Bank,
    Boot,
    Bootloader,
    Console,
    Qemu,
    Region,
    Renode,
    Step,
)
from uhost.config._yaml import YamlFile, nearest, read_yaml
from uhost.config.target import Target
from uhost.errors import BoardError, ConfigError
from uhost.targets._target import TARGETS

__all__ = [
    "Bank",
    "Board",
    "Boot",
    "Bootloader",
    "Console",
    "Qemu",
    "Region",
    "Renode",
    "Step",
    "board_names",
    "chip_names",
    "default_boards",
    "load_board",
]

MAX_RECEIVE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Board:
    """What an image runs on.

    `name` is what the user typed (a board, a chip, or the stem of a path), `board` the
    board itself. `flash` and `ram` name the regions an image is linked to. `vector_count`
    is the number of entries of the vector table, the 16 of the system included.
    `runners` are in order of preference; `verified` names those it has been run on.
    `openocd` are configuration files, `pyocd` and `jlink` the names of the chip for these
    tools, `stlink` whether st-flash knows it; empty where the tool does not reach the board.
    `usb` are the USB ids of the board's own probe or port, `notes` what one must know before
    a first start. A host has no regions, no console and a clock of 0 (unknown). `file` is
    the board file where it is not one of uhost's own.
    """

    name: str
    board: str
    description: str
    chip: str
    target: Target
    regions: tuple[Region, ...] = ()
    flash: str = ""
    ram: str = ""
    stack_bytes: int = 0
    clock_hz: int = 0
    reset_clock_hz: int = 0
    clock_steps: tuple[Step, ...] = ()
    console: Console | None = None
    vector_count: int = 0
    caches: bool = False
    cycle_counter: str = "none"
    plic: int = 0
    boot: Boot | None = None
    runners: tuple[str, ...] = ()
    qemu: Qemu | None = None
    renode: Renode | None = None
    openocd: tuple[str, ...] = ()
    pyocd: str = ""
    stlink: bool = False
    jlink: str = ""
    bootloader: Bootloader | None = None
    usb: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    verified: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    file: Path | None = None

    def region(self, name: str) -> Region:
        """Returns the region `name`."""
        for region in self.regions:
            if region.name == name:
                return region
        raise BoardError(
            f"the board has no region '{name}'",
            where=f"board {self.name}",
            fix=f"known: {', '.join(region.name for region in self.regions) or 'none'}",
        )

    @property
    def vector_table(self) -> int:
        """The address of the vector table: the start of flash, or behind the boot block."""
        start = self.region(self.flash).start
        return start + (self.boot.size_bytes if self.boot and self.boot.at == "start" else 0)

    @property
    def vector_alignment_bytes(self) -> int:
        """The alignment the vector table needs."""
        return vector_alignment(self.vector_count)

    @property
    def rpc_buffer_bytes(self) -> int:
        """The longest RPC payload: 1/32 of the RAM, but 2 KiB are enough for a full line."""
        ram_bytes = self.region(self.ram).size_bytes
        return max(256, min(2048, 1 << (ram_bytes // 32).bit_length() - 1))


def board_names() -> tuple[str, ...]:
    """Returns the names of the boards that come with uhost, sorted."""
    return tuple(sorted(path.stem for path in resources.folder("boards").glob("*.yaml")))


def chip_names() -> tuple[str, ...]:
    """Returns the names of the chips that come with uhost, sorted."""
    return tuple(sorted(path.stem for path in _chips().glob("*.yaml")))


def default_boards() -> dict[str, str]:
    """Returns chip → the board that the chip's name stands for."""
    return {chip: _chip(chip).value.default_board for chip in chip_names()}


def load_board(name: str) -> Board:
    """Returns the board `name`: a board, a chip (its default board) or a board file's path.

    Raises `BoardError` for an unknown name and for everything wrong in the files.
    """
    if name.endswith((".yaml", ".yml")) or os.sep in name:
        path = Path(name)
        if not path.is_file():
            raise BoardError(
                f"there is no board file '{name}'",
                fix="give the path of a file, or the name of a board: `uhost boards` lists them",
            )
        return replace(_load(path, path.stem), file=path.resolve())
    if name in board_names():
        return _load(resources.folder("boards") / f"{name}.yaml", name)
    if name in chip_names():
        file = _chip(name)
        board = file.value.default_board
        check_known(file, ("default_board",), "board", board, board_names())
        return replace(load_board(board), name=name)
    raise BoardError(
        f"there is no board '{name}'",
        fix=f"{nearest(name, (*board_names(), *chip_names()))}`uhost boards` lists them; the name "
        "of a chip and the path of a board file do too",
    )


def _chip(name: str) -> YamlFile[ChipFile]:
    return read_yaml(_chips() / f"{name}.yaml", ChipFile, BoardError)


def _chips() -> Path:
    return resources.folder("boards") / "chips"


def _load(path: Path, name: str) -> Board:
    file = read_yaml(path, BoardFile, BoardError)
    board = file.value
    if not board.runners:
        raise file.error(("runners",), "no runner is given", "name at least one runner")
    if board.chip is not None:
        return _with_chip(file, name, board.chip)
    if board.target is None:
        raise file.error((), "neither 'chip' nor 'target' is given", "add 'chip:'")
    for key in ("clock", "console", "stack_bytes", "qemu", "renode", "bootloader"):
        if getattr(board, key) is not None:
            raise file.error((key,), f"'{key}' needs a chip", "add 'chip:', or remove the key")
    return Board(
        name=name,
        board=path.stem,
        description=board.description,
        chip="",
        target=_target(file, board.target),
        runners=board.runners,
        verified=board.verified,
        sources=board.sources,
    )


def _with_chip(file: YamlFile[BoardFile], name: str, chip_name: str) -> Board:
    """Returns the board with its chip's facts; a chip file beside the board file goes first."""
    board = file.value
    if board.target is not None:
        raise file.error(("target",), "the chip states the target", "remove 'target:'")
    for key in ("clock", "console", "stack_bytes"):
        if getattr(board, key) is None:
            raise file.error((), f"the key '{key}' is missing", f"add '{key}:'")
    assert board.clock
    assert board.stack_bytes
    own = file.path.parent / "chips"
    local = sorted(path.stem for path in own.glob("*.yaml"))
    check_known(file, ("chip",), "chip", chip_name, tuple(sorted({*local, *chip_names()})))
    chips = own if chip_name in local else _chips()
    chip_file = read_yaml(chips / f"{chip_name}.yaml", ChipFile, BoardError)
    check_chip(chip_file)
    chip = chip_file.value
    registers = {**integers(chip_file, ("registers",)), **own_registers(file, chip_file)}
    regions = tuple(
        Region(
            r.name,
            r.start,
            r.size_kib * 1024,
            r.kind,
            _banks(r.start, r.banks),
            tuple(1024 * size_kib for size_kib in r.sectors_kib),
        )
        for r in chip.memory
    )
    ram = next(region for region in regions if region.name == chip.ram)
    check_stack(file, board.stack_bytes, ram.size_bytes)
    check_clock(file, chip)
    return Board(
        name=name,
        board=file.path.stem,
        description=board.description,
        chip=chip_name,
        target=_target(chip_file, chip.target),
        regions=regions,
        flash=chip.flash,
        ram=chip.ram,
        stack_bytes=board.stack_bytes,
        clock_hz=board.clock.hz,
        reset_clock_hz=chip.clock.reset_hz,
        clock_steps=_steps(file, ("clock", "steps"), board.clock.steps, registers, chip),
        console=_console(file, chip_file, registers),
        vector_count=16 + chip.interrupts,
        caches=chip.caches,
        cycle_counter=chip.cycle_counter,
        plic=chip.plic or 0,
        boot=Boot(chip.boot.kind, chip.boot.at, chip.boot.size_bytes) if chip.boot else None,
        runners=board.runners,
        renode=_renode(board),
        openocd=board.openocd.configs if board.openocd else (),
        pyocd=board.pyocd.target if board.pyocd else "",
        stlink=board.stlink,
        jlink=board.jlink.device if board.jlink else "",
        bootloader=_bootloader(board),
        usb=board.usb,
        notes=board.notes,
        qemu=_qemu(board),
        verified=board.verified,
        sources=(*board.sources, *chip.sources),
    )


def _qemu(board: BoardFile) -> Qemu | None:
    return Qemu(board.qemu.machine, board.qemu.serial, board.qemu.options) if board.qemu else None


def _renode(board: BoardFile) -> Renode | None:
    it = board.renode
    return Renode(it.platform, it.uart, it.overlay, it.cpu) if it else None


def _bootloader(board: BoardFile) -> Bootloader | None:
    it = board.bootloader
    if it is None:
        return None
    return Bootloader(it.kind, it.enter, it.console, it.chip_id or 0, it.family_id or 0)


def _banks(start: int, banks: Sequence[BankFile]) -> tuple[Bank, ...]:
    placed = []
    for bank in banks:
        placed.append(Bank(bank.name, start, bank.size_kib * 1024))
        start = placed[-1].start + placed[-1].size_bytes
    return tuple(placed)


def _console(
    file: YamlFile[BoardFile], chip_file: YamlFile[ChipFile], registers: dict[str, int]
) -> Console:
    board, chip = file.value, chip_file.value
    console, clock = board.console, board.clock
    assert console
    assert clock
    names = tuple(uart.name for uart in chip.uarts)
    check_known(file, ("console", "uart"), "UART", console.uart, names)
    uart = chip.uarts[names.index(console.uart)]
    dividers = integers(chip_file, ("clock", "bus_dividers"))
    # Buses are undivided at reset; the divider takes effect with the board's clock steps.
    divider = dividers.get(uart.bus, 1) if clock.steps else 1
    clock_hz = uart.clock_hz or clock.hz // divider
    reset_hz = uart.clock_hz or chip.clock.reset_hz
    check_console(file, uart.kind, console.baud, (clock_hz, reset_hz))
    ram_kib = next(r.size_kib for r in chip.memory if r.name == chip.ram)
    receive_bytes = console.receive_bytes or min(
        MAX_RECEIVE_BYTES, 1 << (ram_kib * 1024 // 16).bit_length() - 1
    )
    if receive_bytes & (receive_bytes - 1) or not 64 <= receive_bytes <= ram_kib * 256:
        raise file.error(
            ("console", "receive_bytes"),
            f"the receive ring cannot be {receive_bytes} bytes",
            f"give a power of two from 64 to {ram_kib * 256}",
        )
    enable = _steps(chip_file, (), uart.enable, registers, chip)
    pins = _steps(file, ("console", "pins"), console.pins, registers, chip)
    return Console(
        console.uart,
        uart.kind,
        uart.base,
        uart.irq,
        console.baud,
        clock_hz,
        reset_hz,
        receive_bytes,
        (*enable, *pins),
    )


def _steps(
    file: YamlFile[BoardFile] | YamlFile[ChipFile],
    keys: tuple[str, ...],
    steps: Sequence[BoardStep],
    registers: dict[str, int],
    chip: ChipFile,
) -> tuple[Step, ...]:
    """Returns the steps with addresses, sequences in place of their names."""
    sequences = {sequence.name: sequence.steps for sequence in chip.sequences}
    check_steps(file, keys, steps, tuple(registers), tuple(sequences))
    flat: list[Step] = []
    for step in steps:
        for one in sequences[step.sequence] if isinstance(step, UseStep) else (step,):
            flat.append(_step(one, registers))
    return tuple(flat)


def _step(step: RegisterStep, registers: dict[str, int]) -> Step:
    op, address = str(step.__struct_config__.tag), registers[step.register]
    match step:
        case SetStep():
            return Step(op, step.register, address, step.mask, step.mask)
        case ClearStep():
            return Step(op, step.register, address, step.mask, 0)
        case WriteStep():
            return Step(op, step.register, address, 0xFFFFFFFF, step.value)
        case _:
            return Step(op, step.register, address, step.mask, step.value)


def _target(file: YamlFile[BoardFile] | YamlFile[ChipFile], target: TargetFile) -> Target:
    check_known(file, ("target", "kind"), "target", target.kind, TARGETS.names())
    try:
        return TARGETS[target.kind].target(target.cpu, target.fpu)
    except ConfigError as cause:
        raise file.error(("target",), cause.what, cause.fix) from None
