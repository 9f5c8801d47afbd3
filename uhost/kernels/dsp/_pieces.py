"""What the small shared pieces of C cost, as GCC compiles them (`uhost.toolchain`'s flags)."""

from __future__ import annotations

from uhost.targets._work import Work

CLAMP_BYTES = 124
"""Code of `uhost_dsp_clamp`."""


def clamping(elements: int) -> Work:
    """Returns the work of a call of `uhost_dsp_clamp`."""
    if elements < 4:
        return Work(alu=2, branch=3) + Work(alu=4, load=1, store=1, branch=1, untaken=1) * elements
    four = Work(alu=5, load=1, store=1, branch=1)
    return Work(alu=17, load=1, store=1, branch=2) + four * (elements // 4)


def widening(elements: int) -> Work:
    """Returns the work of `uhost_dsp_widen`, in line, for one column of a constant size."""
    words, rest = divmod(elements, 4)
    if words < 4:  # GCC spells out so few
        work = Work(alu=2, load=1, store_many=1, words=2) * words + Work(alu=2)
    else:
        work = Work(alu=4, load=1, store=2, branch=1) * words + Work(alu=4, load=1)
    if rest & 2:
        work += Work(alu=1, load=2, store=1)
    if rest & 1:
        work += Work(alu=1, load=1, store=1)
    return work
