"""Cycle models of cores that issue one instruction at a time: M0, M0+, M3, M4, M33.

The figures are those of the instruction set summaries in Arm's technical reference
manuals: DDI 0432 (M0), DDI 0484 (M0+), DDI 0337 (M3), DDI 0439 (M4). Arm publishes none
for the M33, whose pipeline has the M4's shape, and LLVM schedules it as an M4: so does this
model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from uhost.targets._block_cycles import BlockCycles
from uhost.targets._instruction import Instruction
from uhost.targets._work import Work

_SYSTEM = ("mrs", "msr", "dmb", "dsb", "isb", "dmb", "cps")
_LONG = re.compile(r"(s|u)(mull|mlal|maal)$")
_FLOAT_ADDS_TO = re.compile(r"v(ml[as]|nml[as]|fm[as]|fnm[as])$")
_FLOAT_SLOW = ("vdiv", "vsqrt")
_FLOAT_MOVES = ("vmov", "vmrs", "vmsr", "vldr", "vstr", "vldm", "vstm", "vpush", "vpop")
_FLOAT_DIVIDE = 14


@dataclass(frozen=True, slots=True)
class SingleIssue:
    """Cycles by class of instruction.

    A taken branch is one cycle and `refill` more for the pipeline; calls, and loads of the
    program counter among several, are `call` more. `pipelined` cores (Armv7-M, Armv8-M)
    overlap a load with the load or store behind it, and stall for a cycle where an address was
    calculated by the instruction before. LDM and STM take a cycle and one more per register.
    Divisions, which take 2 to 12 cycles by their operands, count with the middle.
    `multiply`, `accumulate` and `long` are for products of 32 bits, those with an addition,
    and those of 64 bits; `system` for barriers and special registers.
    """

    core: str
    refill: int
    call: int = 0
    pipelined: bool = True
    multiply: int = 1
    accumulate: int = 1
    long: int = 1
    divide: int = 7
    system: int = 1
    float_accumulate: int = 3

    def estimate(self, work: Work) -> int:
        """Returns the cycles of stated work, whose order is not known.

        Of the loads of a `pipelined` core every other one counts as right behind another, and
        of its stores all as with an immediate offset.
        """
        load, store = (3, 2) if self.pipelined else (4, 4)  # in halves of a cycle
        return (
            work.alu
            + work.untaken
            + self.accumulate * work.multiply
            + self.divide * work.divide
            + (load * work.load + store * work.store + 1) // 2
            + work.load_many
            + work.store_many
            + work.words
            + (1 + self.refill) * work.branch
            + work.float_alu
            + self.float_accumulate * work.float_multiply
        )

    def block(self, instructions: Sequence[Instruction]) -> BlockCycles:
        """Returns the cycles of a basic block; what came before it changes nothing."""
        total = 0
        before: Instruction | None = None
        for one in instructions:
            total += self._alone(one)
            if self.pipelined:
                total += _stall(before, one) - _overlap(before, one)
            before = one
        last = instructions[-1]
        leaving = self.refill + (self.call if last.name in ("bl", "blx", "pop") else 0)
        if not last.leaves:
            return BlockCycles(total, total)
        return BlockCycles(total + leaving, total)

    def _alone(self, one: Instruction) -> int:
        """Returns an instruction's cycles, without what leaving by it costs."""
        match one.kind:
            case "load":
                return 2
            case "store":
                # The address is made in one cycle, and the data written in the next one's shade.
                immediate = self.pipelined and not one.offset_register
                return 1 if immediate and not one.name.startswith("v") else 2
            case "load_many" | "store_many":
                return 1 + one.words
            case "branch":
                return 2 if one.name in ("tbb", "tbh") else 1
            case "multiply":
                if _LONG.match(one.name):
                    return self.long
                return self.accumulate if one.late else self.multiply
            case "divide":
                return self.divide
            case "float_multiply":
                return self.float_accumulate if _FLOAT_ADDS_TO.match(one.name) else 1
            case "float_alu":
                if one.name in _FLOAT_SLOW:
                    return _FLOAT_DIVIDE
                return 2 if one.name == "vmov" and len(one.reads) + len(one.writes) > 2 else 1
        return self.system if one.name in _SYSTEM else 1


def _stall(before: Instruction | None, one: Instruction) -> int:
    """Returns 1 where `one` needs too soon what the instruction before it makes."""
    if before is None:
        return 0
    if before.kind in ("alu", "multiply", "divide") and before.writes & one.address_of:
        return 1  # no way from a result to the next address but through the registers
    if before.kind in ("float_alu", "float_multiply") and before.name not in _FLOAT_MOVES:
        # The addend of a multiply-accumulate is needed a cycle later than anything else.
        added = one.late if one.kind == "float_multiply" else frozenset()
        return int(bool(before.writes & (one.reads - added) & _float_registers(one)))
    return 0


def _float_registers(one: Instruction) -> frozenset[str]:
    return frozenset(name for name in one.reads if re.fullmatch(r"s\d+", name))


def _overlap(before: Instruction | None, one: Instruction) -> int:
    """Returns 1 where `one` runs while the load before it waits for its data."""
    if before is None or before.kind != "load" or before.name.startswith("v"):
        return 0
    if one.kind not in ("load", "store") or one.name.startswith("v"):
        return 0
    if before.writes & one.address_of:
        return 0
    return 1 if one.kind == "load" or one.offset_register else 0


CORTEX_M0 = SingleIssue(
    "cortex-m0", refill=2, call=1, pipelined=False, system=4, float_accumulate=1
)
CORTEX_M0PLUS = SingleIssue(
    "cortex-m0plus", refill=1, call=1, pipelined=False, system=3, float_accumulate=1
)
CORTEX_M3 = SingleIssue("cortex-m3", refill=2, accumulate=2, long=4, float_accumulate=1)
CORTEX_M4 = SingleIssue("cortex-m4", refill=2)
CORTEX_M33 = SingleIssue("cortex-m33", refill=2)
