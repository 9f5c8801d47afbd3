"""Decodes Thumb code for the cycle models, by Capstone's disassembler.

Capstone 5 knows Armv7E-M and Armv8-M with the FPU, and neither Helium nor the loop
instructions of Armv8.1-M, which `_thumb_v81.py` decodes.
"""

from __future__ import annotations

import re
from typing import Any

from uhost.targets import _thumb_v81
from uhost.targets._instruction import FLAGS, Instruction, Kind

_MULTIPLY = re.compile(r"(mul|ml[as]|sm(la|ls|mul|mla|mls|ua|us|ul)\w*|um(ull|lal|aal))$")
_ACCUMULATES = re.compile(r"(ml[as]|sm(la|ls|mla|mls)\w*|um(lal|aal))$")
_FLOAT_MULTIPLY = re.compile(r"v(mul|nmul|ml[as]|nml[as]|fm[as]|fnm[as])$")
_FLOAT_ACCUMULATES = re.compile(r"v(ml[as]|nml[as]|fm[as]|fnm[as])$")
_LONG = re.compile(r"(smull|umull|smlal\w*|umlal|smlsl\w*|umaal)$")
_COMPARES = ("cmp", "cmn", "tst", "teq")
_BRANCHES = ("b", "bl", "bx", "blx", "cbz", "cbnz", "tbb", "tbh")
_NAMES = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12"}
_UNKNOWN = "unknown"


def decode(code: bytes, address: int) -> tuple[Instruction, ...]:
    """Returns the instructions of `code`, which lies at `address`: one per Thumb instruction.

    One that is not known is `unknown`, of kind `alu`.
    """
    disassembler = _disassembler()
    found: list[Instruction] = []
    offset = 0
    while offset < len(code):
        special = _thumb_v81.decode(code[offset : offset + 4], address + offset)
        if special is not None:
            found.append(special)
            offset += 4
            continue
        end = offset
        while end < len(code):
            size = _size(code, end)
            if _thumb_v81.decode(code[end : end + 4], address + end) is not None:
                break
            end += size
        while offset < end:
            for one in disassembler.disasm(code[offset:end], address + offset):
                found.append(_instruction(one))
                offset += one.size
            if offset < end:
                size = _size(code, offset)
                found.append(Instruction(address + offset, _UNKNOWN, "alu", narrow=size == 2))
                offset += size
    return tuple(found)


def _size(code: bytes, offset: int) -> int:
    return 4 if code[offset + 1] >> 3 >= 0x1D else 2


def _disassembler() -> Any:
    import capstone

    made = capstone.Cs(
        capstone.CS_ARCH_ARM,
        capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8,
    )
    made.detail = True
    return made


def _instruction(one: Any) -> Instruction:
    """Returns an instruction of Capstone's; its lists of registers have gaps, its operands none."""
    from capstone import arm

    name = re.sub(r"(ia|db)$", "", one.insn_name()) if "m" in one.insn_name() else one.insn_name()
    name = "movt" if one.mnemonic.startswith("movt") else name
    registers: list[str] = []
    shifted: list[str] = []
    addresses: list[str] = []
    target: int | None = None
    offset_register = False
    for operand in one.operands:
        if operand.type == arm.ARM_OP_REG:
            registers.append(_register(one, operand.reg))
            if operand.shift.type:
                shifted.append(registers[-1])
        elif operand.type == arm.ARM_OP_MEM:
            addresses += [
                _register(one, part) for part in (operand.mem.base, operand.mem.index) if part
            ]
            offset_register = bool(operand.mem.index)
        elif operand.type == arm.ARM_OP_IMM and name in _BRANCHES:
            target = operand.imm & 0xFFFFFFFF
    condition = one.cc not in (arm.ARM_CC_AL, arm.ARM_CC_INVALID)
    kind = _kind(name, registers)
    reads, writes, late, addresses, words = _operands(one, name, kind, registers, addresses)
    flags = {FLAGS} if one.update_flags or name in (*_COMPARES, "fmstat") else set()
    if condition and kind != "branch" and name != "it":
        reads |= {FLAGS} | writes  # what it leaves as it is, if it is not to be executed
    based = {addresses[0]} if one.writeback and addresses else set()
    if name in ("push", "pop", "vpush", "vpop"):
        based = {"sp"}
    return Instruction(
        one.address,
        name,
        kind,
        frozenset(_singles(reads | set(addresses))),
        frozenset(_singles(writes | flags)),
        frozenset(addresses),
        frozenset(shifted),
        frozenset(_singles(late)),
        frozenset(based),
        words,
        kind == "branch" or "pc" in writes,
        condition or name in ("cbz", "cbnz"),
        target,
        one.size == 2,
        offset_register,
    )


def _register(one: Any, number: int) -> str:
    name = one.reg_name(number)
    return str(_NAMES.get(name, name))


def _singles(registers: set[str]) -> set[str]:
    """Replaces each double register by the two single ones that it consists of."""
    found: set[str] = set()
    for name in registers:
        if re.fullmatch(r"d\d+", name):
            found |= {f"s{2 * int(name[1:]) + half}" for half in (0, 1)}
        else:
            found.add(name)
    return found


def _kind(name: str, registers: list[str]) -> Kind:
    if name in _BRANCHES:
        return "branch"
    if name in ("ldm", "ldrd", "pop", "vldm", "vpop"):
        return "load_many"
    if name in ("stm", "strd", "push", "vstm", "vpush"):
        return "store_many"
    double = registers[:1] and registers[0].startswith("d")
    if name.startswith(("ldr", "vldr")):
        return "load_many" if name == "vldr" and double else "load"
    if name.startswith(("str", "vstr")):
        return "store_many" if name == "vstr" and double else "store"
    if name in ("sdiv", "udiv"):
        return "divide"
    if _MULTIPLY.match(name):
        return "multiply"
    if name.startswith("v") or name == "fmstat":
        return "float_multiply" if _FLOAT_MULTIPLY.match(name) else "float_alu"
    return "alu"


def _operands(
    one: Any, name: str, kind: Kind, registers: list[str], addresses: list[str]
) -> tuple[set[str], set[str], set[str], list[str], int]:
    """Returns what is read, written, read late and makes the address, and the words moved."""
    nothing: set[str] = set()
    if kind in ("load_many", "store_many"):
        if name in ("ldm", "stm", "vldm", "vstm"):
            addresses, registers = registers[:1], registers[1:]
        elif name in ("push", "pop", "vpush", "vpop"):
            addresses = ["sp"]
        words = sum(2 if register.startswith("d") else 1 for register in registers)
        moved = set(registers)
        if kind == "load_many":
            return nothing, moved, nothing, addresses, words
        return moved, nothing, moved, addresses, words
    if kind == "load":
        return nothing, set(registers[:1]), nothing, addresses, 0
    if kind == "store":
        stored = set(registers[-1:]) if name.startswith("strex") else set(registers[:1])
        return stored, set(registers[:1]) - stored, stored, addresses, 0
    if kind == "branch" or name in _COMPARES or name.startswith("vcmp"):
        return set(registers), nothing, nothing, addresses, 0
    if _LONG.match(name):
        results = set(registers[:2])
        added = nothing if name.endswith("mull") else results
        return set(registers[2:]) | added, results, added, addresses, 0
    if _ACCUMULATES.match(name):
        return set(registers[1:]), set(registers[:1]), set(registers[3:]), addresses, 0
    if _FLOAT_ACCUMULATES.match(name):
        return set(registers), set(registers[:1]), set(registers[:1]), addresses, 0
    if name == "vmov" and len(registers) > 2:  # two registers of the one file to the other
        half = len(registers) // 2 if registers[0].startswith("r") else len(registers) - 2
        return set(registers[half:]), set(registers[:half]), nothing, addresses, 0
    two_operands = len(registers) == 1 or name in ("bfi", "bfc", "movt")
    alone = name in ("mov", "mvn", "adr", "mrs", "vmov", "vmrs") or name.startswith("movw")
    reads = set(registers) if two_operands and not alone else set(registers[1:])
    return reads, set(registers[:1]), nothing, addresses, 0
