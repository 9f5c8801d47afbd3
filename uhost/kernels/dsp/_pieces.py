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


def setting(offset: int, size: int) -> Work:
    """Returns the work of `memset` of newlib for so many bytes, `offset` from a whole word."""
    work = Work(alu=1, store_many=1, words=3, branch=1)
    if offset % 4 == 0:
        work += Work(alu=2, branch=1)
    elif size == 0:
        return work + Work(alu=2, load_many=1, words=3, branch=1)
    else:
        work += Work(alu=4, branch=2)
        head = min(-offset % 4, size)
        work += Work(store=1, alu=2, branch=2) * head
        size -= head
        if size == 0 and (offset + head) % 4:
            return work + Work(load_many=1, words=3)
    work += Work(alu=1, branch=1)
    if size > 3:
        work += Work(alu=8, branch=2)
        if size > 15:
            work += Work(store=4, alu=2, branch=1) * (size // 16) + Work(alu=8, branch=1)
        words = size % 16 // 4
        work += (Work(store=1, alu=1, branch=1) * words + Work(alu=5)) if words else Work(alu=4)
    if size % 4:
        work += Work(alu=2) + Work(store=1, alu=1, branch=1) * (size % 4)
    return work + Work(untaken=1, load_many=1, words=3)


SUMS_BYTES = {1: 108, 2: 148}
"""Code of `uhost_dsp_append_sums_N`."""


def summing(pairs: int, columns: int) -> Work:
    """Returns the work of a call of `uhost_dsp_append_sums_N` for so many pairs."""
    work = Work(alu=8, load_many=1, store_many=1, words=12, branch=2)
    each = Work(load=columns, multiply=columns, alu=1, branch=1)
    around = Work(alu=10 + 4 * columns, store=columns, branch=2)
    return work + each * pairs + around * -(-pairs // 128)


PATCH_BYTES = 162
"""Code of `uhost_dsp_patch`."""


def patching(before: int, inside: int, after: int) -> Work:
    """Returns the work of a call of `uhost_dsp_patch`: so many bytes off the image and on it."""
    work = Work(alu=22, load=4, multiply=4, load_many=2, store_many=1, words=12, branch=3)
    work += Work(load=1, store=1, alu=1, branch=1) * (before + inside)
    off = Work(load=1, store=1, alu=4, multiply=1, load_many=1, words=2, branch=1)
    return work + off * after
