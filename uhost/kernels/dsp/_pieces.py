"""What the small shared pieces of C cost, as GCC compiles them (`uhost.toolchain`'s flags)."""

from __future__ import annotations

from uhost.targets._work import Work

CLAMP_BYTES = 96
"""Code of `uhost_dsp_clamp`."""


def clamping(elements: int) -> Work:
    """Returns the work of a call of `uhost_dsp_clamp`."""
    four = Work(alu=5, load=1, store=1, branch=1)
    one = Work(alu=3, load=1, store=1, untaken=1)
    return Work(alu=9, branch=3, untaken=2) + four * (elements // 4) + one * (elements % 4)


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
