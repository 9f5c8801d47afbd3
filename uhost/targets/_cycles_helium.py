"""Cycle model of the Cortex-M55: one instruction a cycle, vectors in two beats.

The facts are those of LLVM's scheduling model of the core, which Arm contributed. A
vector instruction holds its pipe (load and store, integer, product and float) for two
cycles, and one for another pipe may start in the second of them. Two 16-bit instructions
may issue together where one is simple. Dependencies between vectors are not followed: they
cost a cycle at most, and only right behind one another. The end of a low-overhead loop
costs nothing from its second round on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uhost.targets._block_cycles import BlockCycles
from uhost.targets._instruction import Instruction
from uhost.targets._work import Work

_BEATS = 2
_PIPES = {
    "vector_load": "memory",
    "vector_store": "memory",
    "vector_alu": "integer",
    "vector_multiply": "product",
}
_SIMPLE = ("add", "sub", "mov", "movs", "uxtb", "uxth", "sxtb", "sxth", "hint", "nop", "it", "b")
_FLOAT_SLOW = ("vdiv", "vsqrt")
_FLOAT_DIVIDE = 14


@dataclass(frozen=True, slots=True)
class Helium:
    """An in-order core whose vector pipes overlap.

    A taken branch is one cycle and `refill` more: there is no predictor. Where the order is not
    known, vectors for one pipe follow one another and leave the others idle for
    `bunched_percent` of the time: what the blocks of four measured models come to.
    """

    core: str
    refill: int = 3
    divide: int = 7
    bunched_percent: int = 45

    def estimate(self, work: Work) -> int:
        """Returns the cycles of stated work: vectors alternate between pipes where they can.

        Every other branch counts as the end of a low-overhead loop.
        """
        scalar = work.multiply + work.alu + work.load + work.store + work.words + work.untaken
        scalar += work.float_alu + work.float_multiply
        scalar += self.divide * work.divide + (1 + self.refill) * work.branch // 2
        memory = work.vector_load + work.vector_store
        vectors = work.vector_alu + work.vector_multiply + memory
        busiest = _BEATS * max(work.vector_alu, work.vector_multiply, memory)
        return scalar + max(vectors, busiest) * (100 + self.bunched_percent) // 100

    def block(self, instructions: Sequence[Instruction]) -> BlockCycles:
        """Returns the cycles of a basic block; a loop that is one block fills its pipes once."""
        once = self._schedule(instructions)
        last = instructions[-1]
        if not last.leaves:
            return BlockCycles(once, once)
        taken = once
        if last.target == instructions[0].address:
            taken = self._schedule((*instructions, *instructions)) - once
        return BlockCycles(taken + (0 if last.name == "le" else self.refill), once)

    def _schedule(self, instructions: Sequence[Instruction]) -> int:
        """Returns the cycles from the first issue until the last instruction lets go."""
        ready: dict[str, int] = {}
        free = {"memory": 0, "integer": 0, "product": 0}
        issue, before = -1, None
        for one in instructions:
            together = before is not None and _pair(before, one)
            if one.name == "le":
                continue
            start = issue if together else issue + 1
            start = max([start, *(ready.get(register, 0) for register in one.reads)])
            pipe = _PIPES.get(one.kind)
            if pipe:
                start = max(start, free[pipe])
                free[pipe] = start + _BEATS
            hold, latency = self._timing(one)
            for register in one.writes:
                ready[register] = start + latency
            issue = start + hold - 1
            before = None if together else one
        return issue + 1

    def _timing(self, one: Instruction) -> tuple[int, int]:
        """Returns how long an instruction keeps others from issuing, and when its result is there.

        Shifted operands, products and loads are there a cycle later than sums.
        """
        match one.kind:
            case "load" | "multiply" | "vector_load":
                return 1, 2
            case "vector_multiply" | "vector_alu":
                return 1, 2
            case "load_many" | "store_many":
                return max(1, one.words), max(1, one.words) + 1
            case "divide":
                return self.divide, self.divide
            case "float_alu" | "float_multiply":
                return (_FLOAT_DIVIDE, _FLOAT_DIVIDE + 2) if one.name in _FLOAT_SLOW else (1, 2)
        return 1, 2 if one.shifted else 1


def _pair(first: Instruction, second: Instruction) -> bool:
    """Returns whether two instructions issue together: 16 bits each, and one simple."""
    if not (first.narrow and second.narrow) or first.leaves or first.writes & second.reads:
        return False
    return any(one.name in _SIMPLE and len(one.reads) <= 1 for one in (first, second))


CORTEX_M55 = Helium("cortex-m55")
