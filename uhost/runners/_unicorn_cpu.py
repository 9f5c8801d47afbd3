"""A Cortex-M on Unicorn: memory, registers, an image, and a run from sleep to sleep.

Unicorn executes Thumb code and knows the special registers; it has no interrupt
controller and takes no exception by itself. That is added here.

Interrupts are taken when the firmware sleeps, at the end of another exception, and
nowhere else. So a run is a function of the bytes the firmware gets, not of time, and
the engine never stops amid a block, which it cannot do without repeating the access to
a peripheral that it was stopped in.
"""

from __future__ import annotations

from collections.abc import Callable

from unicorn import (
    UC_ARCH_ARM,
    UC_ERR_INSN_INVALID,
    UC_HOOK_INTR,
    UC_HOOK_MEM_INVALID,
    UC_MODE_THUMB,
    Uc,
    UcError,
    arm_const,
)

from uhost.config.board import Board
from uhost.errors import DeviceFault, RunnerError
from uhost.runners._unicorn_exceptions import (
    FIRST_INTERRUPT,
    FRAME_BYTES,
    HARD_FAULT,
    SUPERVISOR_CALL,
    SUPERVISOR_CALL_HOOK,
    Crash,
    Lockup,
    diagnose,
    enter,
    enter_fault,
    leave,
)
from uhost.runners._unicorn_memory import load_elf, map_memory, read_words
from uhost.runners._unicorn_registers import Peripherals, SystemRegisters
from uhost.runners._unicorn_uart import UART_BYTES, UART_KINDS, NrfUarte, Wire
from uhost.toolchain._toolchain import Image

CPU_MODELS = {
    "cortex-m0": arm_const.UC_CPU_ARM_CORTEX_M0,
    "cortex-m0plus": arm_const.UC_CPU_ARM_CORTEX_M0,  # the same instructions
    "cortex-m3": arm_const.UC_CPU_ARM_CORTEX_M3,
    "cortex-m4": arm_const.UC_CPU_ARM_CORTEX_M4,
    "cortex-m7": arm_const.UC_CPU_ARM_CORTEX_M7,
    "cortex-m33": arm_const.UC_CPU_ARM_CORTEX_M33,
    "cortex-m33+nodsp": arm_const.UC_CPU_ARM_CORTEX_M33,  # runs DSP code too; QEMU traps it
}

_PERIPHERALS, _PERIPHERALS_BYTES = 0x40000000, 0x20000000
_SYSTEM, _SYSTEM_BYTES = 0xE0000000, 0x00100000
_NEVER = 0xFFFFFFFE  # no code is there, so the engine runs on
_EXCEPTION_RETURN = 0xFFFFFFE0  # a jump here or above
_CONTROL_FPCA = 4
_CPACR_FPU = 0xF << 20
_SLEEP, _WIDE_SLEEP = 0xBF30, 0x8003F3AF  # WFI
_HINTS, _WIDE_HINTS = (0xBF10, 0xBF20), (0x8001F3AF, 0x8002F3AF)  # YIELD, WFE

_NAMED_REGISTERS = (*(f"R{number}" for number in range(13)), "SP", "LR", "XPSR")


class Cpu:
    """A simulated Cortex-M with its memory, its console UART and an image loaded.

    `wire` holds the bytes to and from the host. `pause` and `resume` are called when an
    exception is entered and left. `fault` tells of a crash that was handed to the firmware.
    """

    def __init__(self, image: Image, board: Board) -> None:
        console = board.console
        assert console is not None
        self._image = image
        self._irq = console.irq
        self._has_fpu = board.target.has("fpu")
        self.wire = Wire(console.receive_bytes // 2)
        self.pause: Callable[[], None] = _nothing
        self.resume: Callable[[], None] = _nothing
        self.engine = Uc(UC_ARCH_ARM, UC_MODE_THUMB, CPU_MODELS[board.target.cpu])
        # Reset lets the vector table begin where the image is linked: chips that boot from
        # an alias of their flash fetch the very same words. A ROM's boot block is skipped.
        table = board.vector_table
        self._system = SystemRegisters(_SYSTEM, table, self._active_exception)
        steps = (*board.clock_steps, *console.steps)
        self._uart = UART_KINDS[console.kind](
            console, self.wire, lambda: self._peripherals.check_done(steps)
        )
        if isinstance(self._uart, NrfUarte):
            self._uart.connect(
                lambda address: self.engine.mem_read(address, 1)[0],
                lambda address, byte: self.engine.mem_write(address, bytes([byte])),
            )
        waits = tuple(step for step in board.clock_steps if step.op == "wait")
        self._peripherals = Peripherals(
            _PERIPHERALS, self._uart, console.base, waits, UART_BYTES.get(console.kind, 0x400)
        )
        self.fault: DeviceFault | None = None
        self._stopping = False
        self._asleep = False
        self._interrupt: int | None = None
        self._bad_access: tuple[int, int] | None = None
        map_memory(self.engine, board)
        load_elf(self.engine, image.elf)
        self._connect()
        self._pc = self._reset(table)

    def _connect(self) -> None:
        """Attaches the registers and the hooks; the engine keeps them as callbacks."""
        peripherals, system = self._peripherals, self._system
        self.engine.mmio_map(
            _PERIPHERALS,
            _PERIPHERALS_BYTES,
            lambda _engine, offset, size, _: peripherals.read(offset, size),
            None,
            lambda _engine, offset, size, value, _: peripherals.write(offset, size, value),
            None,
        )
        self.engine.mmio_map(
            _SYSTEM,
            _SYSTEM_BYTES,
            lambda _engine, offset, size, _: system.read(offset, size),
            None,
            lambda _engine, offset, size, value, _: system.write(offset, size, value),
            None,
        )
        self.engine.hook_add(UC_HOOK_INTR, self._on_interrupt)
        self.engine.hook_add(UC_HOOK_MEM_INVALID, self._on_bad_access)

    def _on_interrupt(self, engine: Uc, number: int, _: object) -> None:
        self._interrupt = number
        engine.emu_stop()

    def _on_bad_access(
        self, engine: Uc, _kind: int, address: int, _size: int, _value: int, _: object
    ) -> bool:
        self._bad_access = (engine.reg_read(arm_const.UC_ARM_REG_PC), address)
        return False

    def _reset(self, vector_table: int) -> int:
        """Returns the reset handler's address, with the main stack set."""
        stack, entry = read_words(self.engine, vector_table, 2)
        if not entry & 1:
            raise RunnerError(
                "the image has no vector table at the start of flash",
                where=f"the reset vector at 0x{vector_table + 4:08x} is 0x{entry:08x}",
                fix="link the vector table to the start of flash",
            )
        self.engine.reg_write(arm_const.UC_ARM_REG_MSP, stack)
        self.engine.reg_write(arm_const.UC_ARM_REG_SP, stack)
        self.engine.reg_write(arm_const.UC_ARM_REG_LR, 0xFFFFFFFF)
        return int(entry & ~1)

    @property
    def location(self) -> str:
        """The function the core stands in; only while it does not run."""
        return self._image.function_at(self._pc)

    def run(self) -> None:
        """Executes until the firmware sleeps with nothing to receive, or `stop` is called.

        Raises `DeviceFault` for a crash that the firmware cannot report itself, and
        `RunnerError` for what the simulator does not model.
        """
        while not self._stopping:
            if self._asleep and not self._wake():
                return
            self._interrupt = self._bad_access = None
            error = 0
            try:
                self.engine.emu_start(self._pc | 1, _NEVER)
            except UcError as cause:
                error = cause.errno
            except RunnerError as cause:
                # A fault handler that cannot send: what matters is the crash.
                raise self.fault or cause from None
            if not self._stopping:
                self._pc = self.engine.reg_read(arm_const.UC_ARM_REG_PC)
                self._act(error)

    def stop(self) -> None:
        """Makes `run` return soon and for good; may be called from another thread."""
        self._stopping = True
        self.engine.emu_stop()

    def _act(self, error: int) -> None:
        """Does what the hardware does at the point where the engine stopped."""
        if self._pc >= _EXCEPTION_RETURN and self._active_exception():
            try:
                self._pc = leave(self.engine, self._pc | 1)
            except Lockup as cause:
                crash = Crash("it returned from an exception without a frame", self._pc, HARD_FAULT)
                raise self._report(crash, str(cause)) from None
            self.resume()
            self._deliver()
        elif self._interrupt == SUPERVISOR_CALL_HOOK:
            self._enter(SUPERVISOR_CALL)
        elif self._slept(error):
            self._asleep = True
            self._check_fpu()
            self.wire.renew()
        else:
            self._crash(diagnose(self.engine, self._pc, error, self._interrupt, self._bad_access))

    def _slept(self, error: int) -> bool:
        """True if the engine stopped behind WFI, or behind WFE or YIELD, which count as sleep."""
        if self._interrupt is not None or self._bad_access is not None:
            return False
        last = int.from_bytes(self._code(self._pc - 4, 4), "little")
        if error == 0:
            return last >> 16 == _SLEEP or last == _WIDE_SLEEP
        return error == UC_ERR_INSN_INVALID and (last >> 16 in _HINTS or last in _WIDE_HINTS)

    def _wake(self) -> bool:
        """Continues behind the sleep instruction if the receive interrupt asks for it."""
        if not self._pending() or self._outranked():
            return False
        self._asleep = False
        self._unmask()
        self._deliver()
        return True

    def _pending(self) -> bool:
        return self._system.enabled(self._irq) and self._uart.interrupts()

    def _outranked(self) -> bool:
        """True if an active exception or BASEPRI keeps the interrupt away, and from waking."""
        limit = self.engine.reg_read(arm_const.UC_ARM_REG_BASEPRI)
        return bool(self._active_exception()) or 0 < limit <= self._system.priority(self._irq)

    def _masked(self) -> bool:
        masks = (arm_const.UC_ARM_REG_PRIMASK, arm_const.UC_ARM_REG_FAULTMASK)
        return any(self.engine.reg_read(mask) & 1 for mask in masks)

    def _unmask(self) -> None:
        """Executes what follows a sleep with interrupts masked, until they are not.

        The usual sequence is CPSID, WFI, CPSIE: the interrupt wakes the core and is taken
        behind CPSIE. CPSIE and barriers are executed here, since the engine drops all
        translated code when it executes a single instruction.
        """
        while self._masked():
            code = self._code(self._pc, 4)
            if code[:2] == b"\x62\xb6":  # CPSIE i
                self.engine.reg_write(arm_const.UC_ARM_REG_PRIMASK, 0)
                self._pc += 2
            elif code[:2] == b"\xbf\xf3" and code[2] >> 4 in (4, 5, 6):  # DSB, DMB, ISB
                self._pc += 4
            elif not self._step():
                return

    def _step(self) -> bool:
        """Executes one instruction; False where that does not lead straight on.

        What stopped it is met again by `run`, which starts at the same instruction.
        """
        start = self._pc
        self.pause()
        try:
            self.engine.emu_start(start | 1, _NEVER, count=1)
        except UcError:
            return False
        finally:
            self.resume()
        after = self.engine.reg_read(arm_const.UC_ARM_REG_PC)
        if self._stopping or self._interrupt is not None or after == start:
            return False
        self._pc = after
        return not self._slept(0)

    def _deliver(self) -> None:
        """Takes the receive interrupt if it is pending and nothing keeps it away."""
        if self._pending() and not self._outranked() and not self._masked():
            self._enter(FIRST_INTERRUPT + self._irq)

    def _enter(self, exception: int) -> None:
        try:
            self._pc = enter(self.engine, self._system, self._pc, exception)
        except Lockup as cause:
            what = f"it could not enter exception {exception}: {cause}"
            self._crash(Crash(what, self._pc, HARD_FAULT))
        else:
            self.pause()

    def _crash(self, crash: Crash) -> None:
        """Hands a crash to the firmware's fault handler, or raises it where that cannot run."""
        fault = self._report(crash, "its fault handler did not report it")
        try:
            self._pc = enter_fault(self.engine, self._system, crash)
        except Lockup as cause:
            raise self._report(crash, str(cause)) from None
        self.fault = fault
        self.pause()

    def _report(self, crash: Crash, unreported: str) -> DeviceFault:
        """Returns the error for a crash, told from outside the firmware."""
        values = {
            name.lower(): self.engine.reg_read(getattr(arm_const, f"UC_ARM_REG_{name}"))
            for name in _NAMED_REGISTERS
        }
        caller = self._image.function_at(values["lr"] & ~1)
        registers = ", ".join(f"{name} 0x{value:08x}" for name, value in values.items())
        return DeviceFault(
            f"the firmware crashed: {crash.what}",
            where=f"pc 0x{crash.pc:08x} in {self._image.function_at(crash.pc)}, "
            f"lr 0x{values['lr']:08x} in {caller}, {registers}",
            fix="raise stack_bytes in the board file"
            if self._stack_is_full(values["sp"])
            else f"look at the function above; the simulator tells this, since {unreported}",
        )

    def _stack_is_full(self, stack_pointer: int) -> bool:
        """True if no exception frame fits below the stack pointer."""
        try:
            self.engine.mem_read(stack_pointer - FRAME_BYTES, FRAME_BYTES)
        except UcError:
            return True
        return False

    def _check_fpu(self) -> None:
        """Raises if the firmware computed with an FPU it never switched on.

        Unicorn has its FPU always on; a chip takes a UsageFault.
        """
        used = self.engine.reg_read(arm_const.UC_ARM_REG_CONTROL) & _CONTROL_FPCA
        access = self._system.read_word(self._system.CPACR) & _CPACR_FPU
        if used and not (self._has_fpu and access == _CPACR_FPU):
            raise DeviceFault(
                "the firmware used the floating-point unit, which "
                + ("is switched off" if self._has_fpu else "the chip does not have"),
                where=f"CPACR at 0x{self._system.CPACR:08x}",
                fix="set the bits 0x00f00000 before the first floating-point instruction"
                if self._has_fpu
                else "build for the board's target",
            )

    def _active_exception(self) -> int:
        return int(self.engine.reg_read(arm_const.UC_ARM_REG_IPSR))

    def _code(self, address: int, size_bytes: int) -> bytes:
        try:
            return bytes(self.engine.mem_read(address, size_bytes))
        except UcError:
            return bytes(size_bytes)


def _nothing() -> None:
    """Does nothing: the callback before anybody sets one."""
