"""A fault report of the firmware in words.

Exception numbers and bits of the fault status registers: Armv7-M Architecture
Reference Manual (DDI 0403), B1.5.2, B3.2.15 and B3.2.16; bit 20 is of Armv8-M.
"""

from __future__ import annotations

from collections.abc import Callable

from uhost.errors import DeviceFault
from uhost.rpc.messages import FaultNotice

_KINDS = {
    2: "NMI",
    3: "HardFault",
    4: "MemManage fault",
    5: "BusFault",
    6: "UsageFault",
}
_FIRST_INTERRUPT = 16
_MEMORY_ADDRESS_VALID = 1 << 7
_BUS_ADDRESS_VALID = 1 << 15
_CFSR_BITS = {
    0: "instruction fetch where execution is forbidden",
    1: "data access that is forbidden",
    3: "forbidden access while leaving an exception",
    4: "forbidden access while entering an exception: stack overflow",
    5: "forbidden access while saving floating-point registers",
    8: "instruction fetch from an address that does not answer",
    9: "data access to an address that does not answer",
    10: "an earlier write to an address that does not answer",
    11: "bus error while leaving an exception",
    12: "bus error while entering an exception: stack overflow",
    13: "bus error while saving floating-point registers",
    16: "undefined instruction",
    17: "instruction without the Thumb state",
    18: "invalid return from an exception",
    19: "coprocessor or FPU that is absent or off",
    20: "stack limit passed: stack overflow",
    24: "unaligned access",
    25: "division by zero",
}
_REPORT = "run the model with --board host; if it is well there, report this with these lines"
_HFSR_BITS = {1: "the vector table could not be read", 31: "breakpoint without a debugger"}


class FirmwareFault(DeviceFault):
    """A `DeviceFault` that carries the registers of the report."""

    def __init__(self, what: str, where: str, fix: str, registers: FaultNotice) -> None:
        super().__init__(what, where, fix)
        self.registers = registers


def decode_fault(notice: FaultNotice, symbolize: Callable[[int], str]) -> FirmwareFault:
    """Returns the error that tells what `notice` reports.

    `symbolize` names the function at an address.
    """
    kind = _KINDS.get(notice.kind)
    if kind is None and notice.kind >= _FIRST_INTERRUPT:
        kind = f"interrupt {notice.kind - _FIRST_INTERRUPT}, which nothing handles"
    causes = fault_causes(notice)
    registers = ", ".join(
        f"{name} 0x{getattr(notice, name):08x}"
        for name in ("sp", "r0", "r1", "r2", "r3", "r12", "xpsr", "cfsr", "hfsr")
    )
    overflow = any("stack overflow" in cause for cause in causes)
    return FirmwareFault(
        f"the firmware crashed: {kind or f'exception {notice.kind}'}"
        + (f": {'; '.join(causes)}" if causes else ""),
        where=f"pc {_name(notice.pc, symbolize)}, lr {_name(notice.lr, symbolize)}, {registers}",
        fix="raise stack_bytes in the board file" if overflow else _REPORT,
        registers=notice,
    )


def fault_causes(notice: FaultNotice) -> tuple[str, ...]:
    """Returns the set bits of the fault status registers in words."""
    causes = []
    for bit, words in _CFSR_BITS.items():
        if notice.cfsr >> bit & 1:
            if bit < 8 and notice.cfsr & _MEMORY_ADDRESS_VALID:
                words += f" (0x{notice.mmfar:08x})"
            elif 8 <= bit < 16 and notice.cfsr & _BUS_ADDRESS_VALID:
                words += f" (0x{notice.bfar:08x})"
            causes.append(words)
    causes += [words for bit, words in _HFSR_BITS.items() if notice.hfsr >> bit & 1]
    return tuple(causes)


def _name(address: int, symbolize: Callable[[int], str]) -> str:
    # Return addresses and function pointers carry the Thumb bit.
    return f"0x{address:08x} in {symbolize(address & ~1)}"
