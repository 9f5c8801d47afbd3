"""What a cycle model needs to know of one Thumb instruction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from uhost.targets._work import Work

Kind = Literal[
    "alu",
    "multiply",
    "divide",
    "load",
    "store",
    "load_many",
    "store_many",
    "branch",
    "float_alu",
    "float_multiply",
    "vector_alu",
    "vector_multiply",
    "vector_load",
    "vector_store",
]
FLAGS = "flags"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One decoded instruction. Registers by name: `r0` to `r12`, `sp`, `lr`, `pc`, `s0`, `flags`.

    `kind` is its class in `Work`, and `name` the mnemonic without width, condition and S.
    `reads` are all registers it needs, of which `address_of` make an address, `shifted` pass the
    shifter first, and `late` are needed a stage later: what a multiply-accumulate adds to, and
    what a store writes. `writes` are its results, `based` the base it moves. `words` is how many
    words a load or store of several moves. `leaves` is true of every instruction that can go
    elsewhere, and `target` is where if it says so. `narrow` ones have 16 bits. An
    `offset_register` is one whose address is a sum of registers.
    """

    address: int
    name: str
    kind: Kind
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    address_of: frozenset[str] = frozenset()
    shifted: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()
    based: frozenset[str] = frozenset()
    words: int = 0
    leaves: bool = False
    conditional: bool = False
    target: int | None = None
    narrow: bool = False
    offset_register: bool = False


def work_of(instructions: Iterable[Instruction], executed: int = 1, taken: int = 0) -> Work:
    """Returns the work of a block that is executed so often and left by its branch `taken` times.

    Only the last instruction of a block is a branch that may be taken; those before it were not.
    """
    total = Work()
    listed = tuple(instructions)
    for number, one in enumerate(listed):
        if one.kind == "branch":
            times = taken if number == len(listed) - 1 else 0
            total = replace(
                total,
                branch=total.branch + times,
                untaken=total.untaken + executed - times,
            )
            continue
        total = replace(
            total,
            **{one.kind: getattr(total, one.kind) + executed},
            words=total.words + executed * one.words,
        )
    return total
