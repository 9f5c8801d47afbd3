"""Cycle model of the Cortex-M7, which issues up to two instructions a cycle, in order.

Arm publishes no instruction timings for it. The facts (which pipes there are, what must
issue alone or first, how long a result takes, when an operand is needed) are those of
LLVM's scheduling model of the core, which Arm contributed. Two are not told there: loads
and stores of several registers move two a cycle, the width of the buses to the caches and
to the tightly coupled memory; a predicted branch costs its place, and a wrongly predicted
one what LLVM gives as the cost of a forward branch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from uhost.targets._block_cycles import BlockCycles
from uhost.targets._instruction import Instruction
from uhost.targets._work import Work

_PIPES = {
    "load": 2,
    "alu": 2,
    "vector port": 2,
    "store": 1,
    "shift": 1,
    "multiply": 1,
    "simd": 1,
    "float": 1,
    "branch": 1,
}
_MISPREDICTED = 6
_SLOW_LOADS = re.compile(r"ldr(s?[bh])$")
_SHIFTS = ("lsl", "lsr", "asr", "ror")
_BITFIELDS = ("bfi", "bfc")
_SIMD = re.compile(r"(s|u|q|uq|sh|uh)(add|sub)(8|16)$|(s|u|q|uq|sh|uh)(asx|sax)$|sel$")
_EXTEND = re.compile(r"[su]xt(b|h|b16)$")
_EXTEND_ADD = re.compile(r"[su]xta(b|h|b16)$")
_SATURATE = re.compile(r"[su]sat(16)?$")
_SATURATING = re.compile(r"q(add|sub)$|usada?8$")
_SATURATING_TWICE = re.compile(r"qd(add|sub)$")
_REVERSE = re.compile(r"rbit$|rev(16|sh)?$")
_ALONE = ("mrs", "msr", "dmb", "dsb", "isb", "cps", "svc", "vmrs", "vmsr", "fmstat", "tbb", "tbh")


@dataclass(frozen=True, slots=True)
class _Traits:
    """How an instruction issues: its pipes, with whom, and when its operands and results are.

    Times are counted from the stage in which the ALUs work. `early` operands are needed a
    cycle before it, `late` ones `advance` cycles after it; `latency` is when results are there.
    """

    pipes: tuple[str, ...]
    latency: int = 1
    early: frozenset[str] = frozenset()
    advance: int = 1
    alone: bool = False
    first: bool = False
    cycles: int = 1


@dataclass(frozen=True, slots=True)
class DualIssue:
    """An in-order core with two ALUs, two load pipes, and one pipe of everything else.

    `pairs_percent` of the instructions that may share a cycle with another do, in code
    whose order is not known: what the blocks of four measured models come to.
    """

    core: str
    pairs_percent: int = 20
    divide: int = 7

    def estimate(self, work: Work) -> int:
        """Returns the cycles of stated work, whose order is not known.

        Loads and stores of several registers issue alone and move two registers a cycle.
        The rest is bounded by its busiest pipe, and by the pairs that it finds.
        """
        alone = self.divide * work.divide + (work.words + 1) // 2
        floats = work.float_alu + work.float_multiply
        others = work.multiply + work.alu + work.load + work.store + floats
        others += work.branch + work.untaken
        issued = (others * (200 - self.pairs_percent) + 199) // 200
        return alone + max(issued, work.multiply, work.store, floats, work.branch + work.untaken)

    def block(self, instructions: Sequence[Instruction]) -> BlockCycles:
        """Returns the cycles of a basic block.

        It finds all registers ready and shares no cycle with other blocks. Only a loop that is
        one block finds what its last round has left: a round costs what a second one adds.
        """
        once = self._schedule(instructions)
        last = instructions[-1]
        taken = once
        if last.target == instructions[0].address:
            taken = self._schedule((*instructions, *instructions)) - once
        return BlockCycles(taken, once, _MISPREDICTED if last.conditional and last.leaves else 0)

    def _schedule(self, instructions: Sequence[Instruction]) -> int:
        """Returns the cycles from the first issue to the last."""
        ready: dict[str, int] = {}
        now = 0  # the cycle that is being filled
        busy: Counter[str] = Counter()  # its pipes
        free = 2  # its places
        for one in instructions:
            traits = self._traits(one)
            start = max(now, _operands_ready(one, traits, ready))
            places = 2 if traits.alone else 1
            first = traits.alone or traits.first
            full = free < places or (first and free < 2)
            if start > now or full or any(busy[p] >= _PIPES[p] for p in traits.pipes):
                now = max(start, now + 1) if free < 2 else start
                busy.clear()
                free = 2
            free -= places
            busy.update(traits.pipes)
            for index, register in enumerate(_in_order(one)):
                arrives = index // 2 if one.kind == "load_many" else 0
                ready[register] = now + traits.latency + arrives
            for register in one.based:
                ready[register] = now
            if traits.cycles > 1:
                now += traits.cycles - 1
                free = 0
            if one.leaves:
                free = 0
        return now + 1

    def _traits(self, one: Instruction) -> _Traits:
        match one.kind:
            case "load":
                pipes = ("load", "vector port") if one.name.startswith("v") else ("load",)
                slow = _SLOW_LOADS.match(one.name) is not None
                return _Traits(pipes, 2 if slow else 1, early=one.address_of)
            case "store":
                single = one.name.startswith("v")
                pipes = ("store", "vector port") if single else ("store",)
                return _Traits(pipes, 2, early=one.address_of, advance=2 if single else 1)
            case "load_many" | "store_many":
                pipe = "load" if one.kind == "load_many" else "store"
                cycles = max(1, (one.words + 1) // 2)
                return _Traits((pipe,), 1, early=one.address_of, alone=True, cycles=cycles)
            case "branch":
                table = one.name in ("tbb", "tbh")
                return _Traits(("branch",), 2, alone=table, cycles=2 if table else 1)
            case "multiply":
                return _Traits(("multiply",), 2)
            case "divide":
                return _Traits(("alu",), 1, alone=True, cycles=self.divide)
            case "float_alu" | "float_multiply":
                return _float_traits(one)
        return _alu_traits(one)


def _operands_ready(one: Instruction, traits: _Traits, ready: dict[str, int]) -> int:
    """Returns the first cycle in which all operands are there in time."""
    start = 0
    for register in one.reads:
        at = ready.get(register, 0)
        if register in traits.early:
            at = at + 1 if at else 0
        elif register in one.late:
            at -= traits.advance
        start = max(start, at)
    return start


def _in_order(one: Instruction) -> list[str]:
    """Returns the results in the order in which they arrive: LDM loads the lowest first."""

    def number(register: str) -> int:
        digits = re.sub(r"\D", "", register)
        return int(digits) if digits else {"sp": 13, "lr": 14, "pc": 15}.get(register, 16)

    return sorted(one.writes, key=number)


def _float_traits(one: Instruction) -> _Traits:
    double = len(one.writes) > 1 or (not one.writes and len(one.reads) > 2)
    if one.name in _ALONE or (one.name == "vmov" and len(one.reads) + len(one.writes) > 2):
        return _Traits(("float", "vector port"), 3, alone=True)
    ports = ("vector port", "vector port") if double else ("vector port",)
    if one.name == "vmov":
        return _Traits(ports, 3, first=double)
    if one.late:  # multiply and add: chained or fused
        chained = one.name.startswith(("vml", "vnml"))
        latency, advance = (3, 0) if double else (6, 3) if chained else (5, 2)
        return _Traits(("float", *ports), latency, advance=advance, first=double)
    return _Traits(("float", *ports), 3, first=double or one.name.startswith("vsel"))


def _alu_traits(one: Instruction) -> _Traits:
    name = one.name
    if name in _ALONE:
        return _Traits(("alu",), 3, alone=True)
    if name in ("hint", "nop", "it"):
        return _Traits((), 0)
    if _SATURATE.match(name):
        return _Traits(("simd", "alu", "shift"), 2, early=one.reads, first=True)
    if _EXTEND.match(name) or _SIMD.match(name):
        return _Traits(("simd", "alu"), 1, first=True)
    if _EXTEND_ADD.match(name) or name.startswith("pkh"):
        return _Traits(("simd", "alu", "shift"), 1, early=one.shifted or one.reads, first=True)
    if _SATURATING.match(name):
        return _Traits(("simd", "alu"), 2, first=True)
    if _SATURATING_TWICE.match(name):
        return _Traits(("simd", "alu", "shift"), 2, early=one.reads, first=True)
    if _REVERSE.match(name):
        return _Traits(("simd", "alu", "shift"), 0, early=one.reads, first=True)
    if name in ("ubfx", "sbfx"):
        return _Traits(("simd", "alu", "shift"), 1, early=one.reads, first=True)
    if name in _BITFIELDS:
        return _Traits(("alu", "shift"), 1, first=True)
    if name == "clz":
        return _Traits(("alu",), 1, first=True)
    if name in _SHIFTS:
        return _Traits(("alu", "shift"), 1)
    if one.shifted:
        return _Traits(("alu", "shift"), 1, early=one.shifted)
    return _Traits(("alu",), 1)


CORTEX_M7 = DualIssue("cortex-m7")
