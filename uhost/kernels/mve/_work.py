"""Instructions of the pieces of assembler that several Helium kernels share, by class.

Counted from the templates they are named after. A loop's last branch is `untaken`; the
low-overhead loops' WLS, DLS, LE and LETP count as branches.
"""

from __future__ import annotations

from uhost.targets._work import Work

PREDICATED_STORE = Work(vector_alu=2, vector_store=1)
"""VCTP, VPST and a store."""
CALL = Work(branch=2)
"""A call and the return from it."""
LOOP = Work(alu=2, branch=1)
"""One turn of a loop in C: count, compare, branch."""
_NARROW = Work(vector_alu=3)
_TO_LANES = Work(vector_alu=4)


def requantized(vectors: int, *, positive: bool) -> Work:
    """Returns what turns vectors of sums into outputs: bias, factor, rounding, zero point."""
    return vectors * Work(vector_multiply=1, vector_alu=3 if positive else 5)


def product(
    pairs: int, channels: int, depth: int, *, positive: bool, short: bool | None = None
) -> Work:
    """Returns one call of `uhost_mve_product`: `pairs` of columns of `depth` bytes.

    `short` names the function; columns of 16 bytes may go through either.
    """
    groups, ragged = -(-channels // 4), channels % 4 != 0
    steps = (depth - 1) // 16
    if short is None:
        short = depth <= 16
    finish = _TO_LANES + requantized(2, positive=positive) + _NARROW
    finish += Work(vector_load=3, load=3, alu=2, vector_store=1, branch=1)
    if ragged:
        finish += Work(vector_alu=2, store=1)
    step = Work(vector_load=6, vector_multiply=8)
    if short:
        group = Work(vector_load=4, vector_multiply=8) + finish
        begin = Work(load=4 if ragged else 5, store=2, alu=1, load_many=1, words=2)
        begin += Work(vector_alu=2, vector_load=2)
        end = Work(load=3, alu=5, load_many=2, words=6, store_many=1, store=1)
        prologue = Work(store_many=5, words=37, alu=4)
    else:
        rounds = max(1, -(-steps // 8))
        group = step + Work(load_many=2, words=4, branch=1) + steps * step + finish
        group += Work(alu=rounds, branch=rounds - 1, untaken=1)
        begin = Work(load=3, store=2, alu=1)
        end = Work(load=3, alu=8, load_many=3, words=10, store_many=2, store=1)
        prologue = Work(store_many=6, words=39, alu=16, multiply=1)
    prologue += Work(load_many=1, vector_alu=5, vector_multiply=1)
    # The last branch of the groups and that of the pairs fall through.
    pair = begin + groups * group + end + Work(untaken=1)
    return prologue + pairs * pair + Work(alu=1, load_many=2, words=25, branch=1)


def vector(channels: int, depth: int, *, positive: bool) -> Work:
    """Returns one call of `uhost_mve_vector`: one column of `depth` bytes."""
    groups, steps = -(-channels // 8), (depth - 1) // 16
    rounds = max(1, -(-steps // 8))
    step = Work(vector_load=9, vector_multiply=8)
    group = step + steps * step + Work(load=3, vector_alu=2, branch=1)
    group += Work(alu=rounds, branch=rounds - 1, untaken=1)
    group += _TO_LANES + requantized(2, positive=positive) + _NARROW
    group += Work(vector_load=6, alu=2, load=1, store=1, branch=1) + PREDICATED_STORE
    prologue = Work(store_many=3, words=15, alu=16, load=2, load_many=1, multiply=1)
    return prologue + groups * group + Work(alu=1, load_many=1, words=9)


def clamp(elements: int) -> Work:
    """Returns one call of `uhost_mve_clamp`."""
    turn = Work(vector_load=1, vector_alu=2, vector_store=1, branch=1)
    return -(-elements // 16) * turn + Work(vector_alu=2, branch=3, alu=8)


def fill(size_bytes: int) -> Work:
    """Returns one `uhost_mve_fill`, inline."""
    turn = Work(vector_store=1, branch=1)
    return -(-size_bytes // 16) * turn + Work(vector_alu=1, branch=1, alu=3)


def copy_row(size_bytes: int) -> Work:
    """Returns one `uhost_mve_copy`, inline."""
    turn = Work(vector_load=1, vector_store=1, branch=1)
    return -(-size_bytes // 16) * turn + Work(branch=1)


def copy_pixels(pixels: int, depth: int) -> Work:
    """Returns one call of `uhost_mve_copy_pixels`."""
    if depth <= 16:
        turn = Work(vector_alu=1, vector_load=1, vector_store=1, alu=2, branch=1)
        return pixels * turn + Work(load=3, store_many=1, load_many=1, words=8, alu=2, branch=2)
    turn = -(-depth // 16) * Work(vector_load=1, vector_store=1, branch=1)
    turn += Work(alu=5, branch=2, load=1)
    return pixels * turn + Work(load=3, store_many=1, load_many=1, words=8, alu=4, branch=2)


def spread_pixels(size: int, whole_bytes: int) -> Work:
    """Returns one call of `uhost_mve_spread_pixels` of `size` bytes."""
    turn = Work(vector_alu=2, vector_load=1, vector_store=1, alu=3, branch=1)
    ends = Work(vector_load=1, store_many=1, load_many=2, words=8, alu=2, branch=1)
    return -(-size // whole_bytes) * turn + ends


def split_channels(pixels: int) -> Work:
    """Returns one call of `uhost_mve_split_channels`."""
    pair = Work(vector_alu=1, vector_load=2, vector_store=2, alu=3, branch=1)
    total = pixels // 2 * pair + Work(vector_load=1, vector_alu=2, alu=4, branch=2)
    if pixels % 2:
        total += Work(vector_alu=1, vector_load=1, vector_store=1)
    return total + Work(alu=3, load=1, load_many=2, store_many=1, words=14)


def drop_rows(size_bytes: int) -> Work:
    """Returns one call of `uhost_mve_drop_rows`."""
    turn = Work(vector_load=1, vector_alu=1, vector_store=1, branch=1)
    return -(-size_bytes // 16) * turn + Work(vector_alu=1, branch=2, alu=2, load_many=1, words=2)


def adds(value: int) -> int:
    """Returns how many ADDW instructions add a value of any size."""
    return value // 4095 + (value % 4095 > 0)


PIXEL = Work(alu=12, branch=1, load=1)
"""What stands around the assembler of one output pixel in loops of C."""
INLINE_LOOP = Work(store_many=1, load_many=1, words=18, alu=8, branch=1)
"""A function's own begin and end, around loops that need all registers."""
