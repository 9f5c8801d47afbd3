"""Executed instructions by class: what a kernel states before it is printed, what a run counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import add, attrgetter


@dataclass(frozen=True, slots=True)
class Work:
    """How many instructions of each class are executed.

    `multiply` are multiplications and multiply-accumulates of the integer unit, `divide`
    its divisions, `alu` every other data instruction. `load` and `store` move one register;
    `load_many` and `store_many` several (LDRD, LDM), which together move `words`
    registers. `branch` are taken branches, calls and returns; `untaken` the others.
    `float_alu` and `float_multiply` are the FPU's, `vector_alu`, `vector_multiply`,
    `vector_load` and `vector_store` Helium's.
    """

    multiply: int = 0
    divide: int = 0
    alu: int = 0
    load: int = 0
    store: int = 0
    load_many: int = 0
    store_many: int = 0
    words: int = 0
    branch: int = 0
    untaken: int = 0
    float_alu: int = 0
    float_multiply: int = 0
    vector_alu: int = 0
    vector_multiply: int = 0
    vector_load: int = 0
    vector_store: int = 0

    @property
    def instructions(self) -> int:
        """All of them; `words` are no instructions."""
        return sum(_counts(self)) - self.words

    def __add__(self, other: Work) -> Work:
        return Work(*map(add, _counts(self), _counts(other)))

    def __mul__(self, times: int) -> Work:
        return Work(*(times * count for count in _counts(self)))

    __rmul__ = __mul__


# Not `astuple`: it copies every number, and works are added by the ten thousand.
_counts: Callable[[Work], tuple[int, ...]] = attrgetter(*(field.name for field in fields(Work)))
