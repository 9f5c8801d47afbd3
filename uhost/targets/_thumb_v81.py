"""Decodes what Armv8.1-M adds to Thumb: vectors (Helium) and low-overhead loops.

Only what the cycle model needs: which pipe a vector instruction takes, and which registers
of the core it makes an address from or writes. Vector registers are not followed. Encodings
are those of the Armv8-M Architecture Reference Manual (DDI 0553); which pipe an
instruction takes is what LLVM's scheduling model of the Cortex-M55 says.
"""

from __future__ import annotations

from uhost.targets._instruction import Instruction, Kind

_NAMES = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc")


def decode(code: bytes, address: int) -> Instruction | None:
    """Returns the instruction of Armv8.1-M that `code` begins with, or None for any other.

    A vector instruction is named by its kind.
    """
    if len(code) < 4:
        return None
    first = int.from_bytes(code[:2], "little")
    second = int.from_bytes(code[2:4], "little")
    if first & 0xFFC0 == 0xF000 and second & 0xF801 == 0xE801:
        register = _NAMES[first & 0xF]
        return Instruction(address, "vctp", "vector_alu", frozenset({register}))
    if first & 0xFF80 == 0xF000 and second & 0xD001 == 0xC001:
        return _loop(first, second, address)
    space = first >> 8
    if space in (0xEC, 0xED, 0xFC, 0xFD) and second & 0x0E00 == 0x0E00:
        return _memory(first, second, address)
    if space in (0xEF, 0xFF):
        return _vector(address, _is_product(first, second))
    if space in (0xEE, 0xFE) and second & 0x0E00 == 0x0E00:
        return _with_core(first, second, address)
    if space == 0xEE and second & 0x0F10 == 0x0B10:  # between a lane and a register
        moved = frozenset({_NAMES[second >> 12]})
        if first & 0x10:
            return Instruction(address, "vmov", "vector_multiply", writes=moved)
        return Instruction(address, "vmov", "vector_alu", moved)
    return None


def _loop(first: int, second: int, address: int) -> Instruction:
    """Returns DLS, WLS or LE, or what they are with a predicate for the tail."""
    if second & 0x2000:
        return Instruction(address, "dls", "alu", frozenset({_NAMES[first & 0xF]}), _LR)
    offset = (second & 0x7FE) << 1 | (second >> 11 & 1) << 1
    if first & 0xF == 0xF:
        target = address + 4 - offset
        return Instruction(
            address, "le", "branch", _LR, _LR, leaves=True, conditional=True, target=target
        )
    return Instruction(
        address,
        "wls",
        "branch",
        frozenset({_NAMES[first & 0xF]}),
        _LR,
        leaves=True,
        conditional=True,
        target=address + 4 + offset,
    )


_LR = frozenset({"lr"})


def _memory(first: int, second: int, address: int) -> Instruction:
    if first & 0xFFE0 == 0xEC00:  # two lanes and two registers of the core
        registers = frozenset({_NAMES[first & 0xF], _NAMES[second & 0xF]})
        if first & 0x10:
            return Instruction(address, "vmov", "vector_alu", registers)
        return Instruction(address, "vmov", "vector_multiply", writes=registers)
    kind: Kind = "vector_load" if first & 0x10 else "vector_store"
    by_vector = first >> 12 == 0xF and first & 0x0100 and second & 0x1000
    base = frozenset() if by_vector else frozenset({_NAMES[first & 0xF]})
    based = base if first & 0x20 else frozenset()
    return Instruction(address, kind, kind, base, address_of=base, based=based)


def _is_product(first: int, second: int) -> bool:
    """Returns whether an instruction on vectors alone takes the pipe of products and floats."""
    group = second >> 8 & 0xF
    if not first & 0x80:
        return group in (0x9, 0xB) or group >= 0xC
    if first & 0x10B0 == 0x10B0:  # one vector to another: floats by their number of the group
        number = first & 0xB
        return number == 0xB or (number == 0xA and group == 5) or (number == 9 and group == 7)
    immediate = first & 0x38 == 0 and second & 0x90 == 0x10
    return group >= 0xC or (immediate and not second & 0x0120)


def _with_core(first: int, second: int, address: int) -> Instruction:
    """Returns an instruction that may read or write registers of the core, or narrows."""
    unsigned, low = bool(first & 0x1000), first & 0xFF
    group_f = bool(second & 0x0100)
    if second & 0xF == 0xD and low & 0xBF == 0x31 and unsigned:
        return Instruction(address, "vpst", "alu")  # VPST, VPNOT
    if low & 0x80:
        if second & 0x40 and not low & 0x40:
            return _vector(address, False)  # shifts that narrow or widen
        extremes = group_f and low & 0xF3 in (0xE0, 0xE1, 0xE2, 0xE3) and not second & 0xE
        differences = group_f and low & 0xC0 == 0x80 and second & 1 and not unsigned
        kind: Kind = "vector_alu" if extremes or differences else "vector_multiply"
        result = frozenset({_NAMES[second >> 12 & 0xE]})
        adds = result if second & 0x20 else frozenset()
        return Instruction(address, kind, kind, adds, result, late=adds)
    by_register = bool(second & 0x40)
    reads = frozenset({_NAMES[second & 0xF]}) if by_register and second & 0xF < 0xD else frozenset()
    return _vector(address, _with_core_is_product(unsigned, low, second, group_f), reads)


def _with_core_is_product(unsigned: bool, low: int, second: int, group_f: bool) -> bool:
    by_register = bool(second & 0x40)
    high_bit = bool(second & 0x1000)
    floats = low & 0x30 == 0x30
    if not group_f:
        if not by_register:
            return not (floats and low & 1)  # else VMOVN and its like
        reversal = unsigned and high_bit and low & 1
        shift = floats and high_bit and bool(second & 0x20)
        return not (reversal or shift)
    if not by_register:
        if high_bit and low & 1:
            return True  # VCMP, VPT
        return floats and not low & 1 and bool(second & 1)  # VQDMULL
    if high_bit and low & 1 and (unsigned or floats):
        return True  # VCMP, VPT with a register
    return floats and second & 0x20 == 0


def _vector(address: int, product: bool, reads: frozenset[str] = frozenset()) -> Instruction:
    kind: Kind = "vector_multiply" if product else "vector_alu"
    return Instruction(address, kind, kind, reads)
