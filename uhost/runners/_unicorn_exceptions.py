"""Exception entry, exception return and faults of a Cortex-M, done around Unicorn.

What the hardware does: Armv7-M Architecture Reference Manual, B1.5.6 (entry), B1.5.8
(return), B1.5.14 (faults). The floating-point frame is stacked at once, never lazily.
"""

from __future__ import annotations

from dataclasses import dataclass

from unicorn import (
    UC_ERR_FETCH_PROT,
    UC_ERR_FETCH_UNMAPPED,
    UC_ERR_WRITE_PROT,
    Uc,
    UcError,
    arm_const,
)

from uhost.runners._unicorn_memory import read_words, write_words
from uhost.runners._unicorn_registers import SystemRegisters

# Numbers that Unicorn's interrupt hook passes (EXCP_… of QEMU's target/arm/cpu.h).
SUPERVISOR_CALL_HOOK, _FETCH_ABORT, _ALIGNMENT, _BREAKPOINT, _NO_COPROCESSOR = 2, 3, 4, 7, 17

SUPERVISOR_CALL, FIRST_INTERRUPT = 11, 16
FRAME_BYTES = 32
HARD_FAULT, _MEMORY_FAULT, _BUS_FAULT, _USAGE_FAULT = 3, 4, 5, 6
_SHCSR_ENABLE = {_MEMORY_FAULT: 1 << 16, _BUS_FAULT: 1 << 17, _USAGE_FAULT: 1 << 18}
_HFSR_FORCED, _HFSR_DEBUGEVT = 1 << 30, 1 << 31
_IACCVIOL, _IBUSERR, _PRECISERR, _BFARVALID = 1 << 0, 1 << 8, 1 << 9, 1 << 15
_UNDEFINSTR, _INVSTATE, _NOCP, _UNALIGNED = 1 << 16, 1 << 17, 1 << 19, 1 << 24

_CONTROL_SPSEL, _CONTROL_FPCA = 2, 4
_XPSR_PADDED, _XPSR_THUMB, _XPSR_EXCEPTION = 1 << 9, 1 << 24, 0x1FF
_FRAME_WORDS, _FP_WORDS = 8, 18

_STACKED = tuple(
    getattr(arm_const, f"UC_ARM_REG_{name}") for name in ("R0", "R1", "R2", "R3", "R12", "LR")
)
_FP_STACKED = tuple(arm_const.UC_ARM_REG_D0 + index for index in range(8))


@dataclass(frozen=True, slots=True)
class Crash:
    """What went wrong in the firmware, and how the hardware reports it.

    `pc` is the instruction at fault; `cfsr` and `hfsr` are the status bits that get set,
    `address` the bus address of a refused access.
    """

    what: str
    pc: int
    exception: int
    cfsr: int = 0
    hfsr: int = 0
    address: int | None = None


class Lockup(Exception):
    """The core cannot enter or leave an exception: why, in words."""


def enter(engine: Uc, system: SystemRegisters, pc: int, exception: int) -> int:
    """Returns the address of the handler, with the frame stacked and the handler's mode set.

    `pc` is where the exception will return to. Raises `Lockup`, with nothing changed.
    """
    control = engine.reg_read(arm_const.UC_ARM_REG_CONTROL)
    xpsr = engine.reg_read(arm_const.UC_ARM_REG_XPSR)
    with_fp = bool(control & _CONTROL_FPCA)
    top = engine.reg_read(arm_const.UC_ARM_REG_SP)
    frame = (top - 4 * (_FRAME_WORDS + _FP_WORDS * with_fp)) & 0xFFFFFFF8
    padded = _XPSR_PADDED if top & 4 else 0
    words = (*engine.reg_read_batch(_STACKED), pc, xpsr & ~_XPSR_PADDED | padded)
    if with_fp:
        doubles = engine.reg_read_batch(_FP_STACKED)
        halves = (half for d in doubles for half in (d & 0xFFFFFFFF, d >> 32))
        words = (*words, *halves, engine.reg_read(arm_const.UC_ARM_REG_FPSCR), 0)
    handler = _vector(engine, system.read_word(system.VTOR) + 4 * exception)
    try:
        write_words(engine, frame, words)
    except UcError:
        raise Lockup(f"there is no memory for its frame below 0x{top:08x}") from None
    in_thread = xpsr & _XPSR_EXCEPTION == 0
    uses_psp = bool(control & _CONTROL_SPSEL) and in_thread
    link = 0xFFFFFFE1 | (0 if with_fp else 0x10) | (8 if in_thread else 0) | (4 * uses_psp)
    engine.reg_write(arm_const.UC_ARM_REG_SP, frame)
    engine.reg_write(arm_const.UC_ARM_REG_CONTROL, control & ~_CONTROL_FPCA)
    # The exception number selects the main stack; no IT block is active in a handler.
    engine.reg_write(arm_const.UC_ARM_REG_IEPSR, _XPSR_THUMB | exception)
    engine.reg_write(arm_const.UC_ARM_REG_LR, link)
    return handler


def _vector(engine: Uc, entry: int) -> int:
    """Returns the handler's address that stands at `entry` of the vector table."""
    vector = 0
    try:
        (vector,) = read_words(engine, entry, 1)
        engine.mem_read(vector & ~1, 2)
    except UcError:
        vector = 0
    if not vector & 1:
        raise Lockup(f"the vector at 0x{entry:08x} leads to no code")
    return vector & ~1


def leave(engine: Uc, link: int) -> int:
    """Returns where the interrupted code goes on, with its registers restored from the frame.

    `link` is the EXC_RETURN value that was jumped to. Raises `Lockup`.
    """
    with_fp = not link & 0x10
    use_psp = bool(link & 4)
    stack = arm_const.UC_ARM_REG_PSP if use_psp else arm_const.UC_ARM_REG_MSP
    frame = engine.reg_read(stack)
    try:
        words = read_words(engine, frame, _FRAME_WORDS + _FP_WORDS * with_fp)
    except UcError:
        raise Lockup(f"there is no frame in memory at 0x{frame:08x}") from None
    pc, xpsr = words[6], words[7]
    control = engine.reg_read(arm_const.UC_ARM_REG_CONTROL) & ~(_CONTROL_SPSEL | _CONTROL_FPCA)
    # First the mode, which selects the stack pointer, then the stack pointer.
    engine.reg_write(arm_const.UC_ARM_REG_XPSR_NZCVQG, xpsr & ~_XPSR_PADDED)
    engine.reg_write(
        arm_const.UC_ARM_REG_CONTROL,
        control | _CONTROL_SPSEL * use_psp | _CONTROL_FPCA * with_fp,
    )
    for register, value in zip(_STACKED, words, strict=False):
        engine.reg_write(register, value)
    if with_fp:
        for index, register in enumerate(_FP_STACKED):
            low, high = words[8 + 2 * index], words[9 + 2 * index]
            engine.reg_write(register, low | high << 32)
        engine.reg_write(arm_const.UC_ARM_REG_FPSCR, words[24])
    size_bytes = 4 * len(words) + (4 if xpsr & _XPSR_PADDED else 0)
    engine.reg_write(arm_const.UC_ARM_REG_SP, frame + size_bytes)
    return int(pc & ~1)


def diagnose(
    engine: Uc, pc: int, error: int, interrupt: int | None, access: tuple[int, int] | None
) -> Crash:
    """Returns what made the engine stop at `pc`.

    `error` is the engine's error number, `interrupt` the number its interrupt hook got,
    `access` the program counter and the address of a refused memory access.
    """
    if access is not None:
        at, address = access
        if error in (UC_ERR_FETCH_PROT, UC_ERR_FETCH_UNMAPPED):
            what = f"it jumped to 0x{address:08x}, where there is no code"
            return Crash(what, address, _BUS_FAULT, cfsr=_IBUSERR)
        deed = "wrote to" if error == UC_ERR_WRITE_PROT else "accessed"
        kind = "read-only memory" if error == UC_ERR_WRITE_PROT else "where there is no memory"
        what = f"it {deed} 0x{address:08x}, {kind}"
        return Crash(what, at, _BUS_FAULT, cfsr=_PRECISERR | _BFARVALID, address=address)
    if interrupt == _FETCH_ABORT:
        what = f"it jumped to 0x{pc:08x}, which is not executable"
        return Crash(what, pc, _MEMORY_FAULT, cfsr=_IACCVIOL)
    if interrupt == _ALIGNMENT:
        return Crash("it made an unaligned access", pc, _USAGE_FAULT, cfsr=_UNALIGNED)
    if interrupt == _NO_COPROCESSOR:
        what = "it used a coprocessor that the core does not have"
        return Crash(what, pc, _USAGE_FAULT, cfsr=_NOCP)
    if interrupt == _BREAKPOINT:
        return Crash("it met a breakpoint", pc, HARD_FAULT, hfsr=_HFSR_DEBUGEVT)
    if not engine.reg_read(arm_const.UC_ARM_REG_XPSR) & _XPSR_THUMB:
        what = "it jumped to an even address, which means Arm code"
        return Crash(what, pc, _USAGE_FAULT, cfsr=_INVSTATE)
    if interrupt is not None:
        return Crash(f"Unicorn reports exception {interrupt}", pc, HARD_FAULT)
    return Crash("it met an undefined instruction", pc, _USAGE_FAULT, cfsr=_UNDEFINSTR)


def enter_fault(engine: Uc, system: SystemRegisters, crash: Crash) -> int:
    """Returns the address of the fault handler, entered as after `crash`.

    A fault that is not enabled in SHCSR escalates to HardFault. Raises `Lockup` if the
    handler cannot be entered. (A chip whose stack pointer is outside memory enters the
    handler without a frame, but then nobody knows where the crash was.)
    """
    active = engine.reg_read(arm_const.UC_ARM_REG_IPSR)
    if active == HARD_FAULT or engine.reg_read(arm_const.UC_ARM_REG_FAULTMASK):
        raise Lockup("the fault handler itself crashed")
    exception, hfsr = crash.exception, crash.hfsr
    enabled = system.read_word(system.SHCSR) & _SHCSR_ENABLE.get(exception, 0)
    if exception != HARD_FAULT and (active or not enabled):
        exception, hfsr = HARD_FAULT, hfsr | _HFSR_FORCED
    handler = enter(engine, system, crash.pc, exception)
    system.latch(system.CFSR, crash.cfsr)
    system.latch(system.HFSR, hfsr)
    if crash.address is not None:
        system.latch_address(crash.address)
    return handler
