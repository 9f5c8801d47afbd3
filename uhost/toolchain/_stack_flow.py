"""Follows one function's machine code: where its stack pointer gets to, and what it calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from uhost.targets import _thumb_v81
from uhost.toolchain._elf import Piece

_SCRATCH = ("r0", "r1", "r2", "r3", "r12", "lr")
_NAMES = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12"}
_GROWS = 8
"""How often the depth at one place may grow before it is taken to grow without end."""

# What is known of a register: a "constant"; how far below SP at entry it points, in the "stack";
# that it is the "return" address; or "behind" which label of the code it points. A jump there goes
# into straight code without changes of SP, as the entry into an unrolled loop does.
Value = tuple[str, int]


@dataclass(slots=True)
class FunctionFlow:
    """The deepest place of a function itself, and callee → the deepest place of a call.

    `problems` are what the analysis cannot follow, to be read behind the function's name.
    """

    depth_bytes: int = 0
    calls: dict[int, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def call(self, target: int, depth_bytes: int) -> None:
        """Notes a call."""
        self.calls[target] = max(self.calls.get(target, 0), depth_bytes)

    def problem(self, text: str) -> None:
        """Notes what cannot be followed, once."""
        if text not in self.problems:
            self.problems.append(text)


@dataclass(frozen=True, slots=True)
class _State:
    """What is known before an instruction: SP's depth, and values of registers."""

    depth: int = 0
    values: Mapping[str, Value] = field(default_factory=dict)

    def meet(self, other: _State) -> _State:
        """Returns what holds whichever of the two ways led here."""
        both = {r: v for r, v in self.values.items() if other.values.get(r) == v}
        return _State(max(self.depth, other.depth), both)


@dataclass(frozen=True, slots=True)
class _Step:
    """A decoded instruction: registers in order of its operands, and its immediates."""

    address: int
    end: int
    name: str
    registers: tuple[str, ...] = ()
    immediates: tuple[int, ...] = ()
    base: str = ""
    index: str = ""
    displacement: int = 0
    writeback: bool = False
    conditional: bool = False
    target: int | None = None
    writes: tuple[str, ...] = ()


class Flow:
    """The code of one program."""

    def __init__(self, pieces: Sequence[Piece], declared: Mapping[int, int]) -> None:
        """Takes the code, and function → the bytes of stack that it declares to need."""
        self._pieces = pieces
        self._declared = declared
        self._steps: dict[int, _Step] = {}
        self._decoder = _decoder()

    def of(self, entry: int) -> FunctionFlow:
        """Returns what the function at `entry` does to its stack; its tail calls are part of it."""
        if entry in self._declared:
            return FunctionFlow(self._declared[entry])
        found = FunctionFlow()
        states: dict[int, _State] = {}
        grown: dict[int, int] = {}
        waiting = [(entry, _State(values={"lr": ("return", 0)}))]
        while waiting:
            address, state = waiting.pop()
            known = states.get(address)
            if known is not None:
                merged = known.meet(state)
                if merged == known:
                    continue
                grown[address] = grown.get(address, 0) + (merged.depth > known.depth)
                if grown[address] > _GROWS:
                    found.problem("takes stack in a loop")
                    continue
                state = merged
            states[address] = state
            found.depth_bytes = max(found.depth_bytes, state.depth)
            step = self._step(address)
            if step is None:
                found.problem(f"goes to 0x{address:08x}, where the image has no code")
                continue
            waiting += self._follow(step, state, found)
        return found

    def _follow(
        self, step: _Step, state: _State, found: FunctionFlow
    ) -> Iterator[tuple[int, _State]]:
        """Yields where the step leads, with the state there."""
        name = step.name
        if name in ("b", "cbz", "cbnz", "le", "wls"):
            if step.target is not None and step.target in self._declared:
                found.call(step.target, state.depth)
            elif step.target is not None:
                yield step.target, state
            if name != "b" or step.conditional:
                yield step.end, state
            return
        if name in ("tbb", "tbh"):
            yield from ((target, state) for target in self._table(step))
            return
        after = self._apply(step, state, found)
        found.depth_bytes = max(found.depth_bytes, after.depth)
        if name in ("bl", "blx"):
            target = step.target
            if target is None:
                kind, value = state.values.get(step.registers[0], ("", 0))
                target = value & ~1 if kind == "constant" else None
            if target is None:
                found.problem("calls through a pointer")
            else:
                found.call(target, state.depth)
            kept = {r: v for r, v in state.values.items() if r not in _SCRATCH}
            yield step.end, _State(state.depth, kept)
            return
        leaves = name == "bx" or "pc" in step.writes
        if leaves:
            kind, value = self._destination(step, state)
            if kind in ("constant", "behind"):
                yield value & ~1, after
            elif kind != "return":
                found.problem("jumps through a pointer")
        if name == "udf" or (leaves and not step.conditional):
            return
        yield step.end, after.meet(state) if step.conditional else after

    def _destination(self, step: _Step, state: _State) -> Value:
        """Returns what is known of where a jump by a register, or a load of PC, goes."""
        if step.name in ("bx", "mov"):
            return state.values.get(step.registers[-1], ("", 0))
        if step.base == "sp" or step.name in ("pop", "ldm"):
            return ("return", 0)
        return self._loaded(step) or ("", 0)

    def _apply(self, step: _Step, state: _State, found: FunctionFlow) -> _State:
        """Returns the state behind a step that goes on to the next one."""
        values = {r: v for r, v in state.values.items() if r not in step.writes}
        made = self._value(step, state)
        if made is not None:
            values[step.registers[0]] = made
        depth = state.depth
        moved = self._moved(step, state)
        if moved is not None:
            depth += moved
        elif "sp" in step.writes:
            kind, value = values.pop("sp", ("", 0))
            if kind == "stack":
                depth = value
            else:
                found.problem("moves its stack pointer by what is not a constant")
        values.pop("sp", None)
        if step.name in ("pop", "ldm"):
            values |= {r: ("return", 0) for r in step.writes if r not in ("sp", "pc")}
        return _State(max(0, depth), values)

    def _moved(self, step: _Step, state: _State) -> int | None:
        """Returns how many bytes a step puts on the stack; None if it is none that does so."""
        size = sum(8 if r.startswith("d") else 4 for r in step.registers if r != "sp")
        if step.name in ("push", "vpush") or (step.name in ("stmdb", "vstmdb") and _on_sp(step)):
            return size
        if step.name in ("pop", "vpop") or (step.name in ("ldm", "vldmia") and _on_sp(step)):
            return -size
        if step.base == "sp" and step.writeback:
            return -step.displacement
        if step.registers[:1] == ("sp",) and step.name in ("add", "addw", "sub", "subw"):
            sign = 1 if step.name.startswith("sub") else -1
            others = [r for r in step.registers[1:] if r != "sp"]
            first_is_sp = step.registers[1:2] in ((), ("sp",)) or len(step.registers) == 2
            if step.immediates and not others:
                return sign * step.immediates[-1]
            if len(others) == 1 and first_is_sp and not step.immediates:
                kind, value = state.values.get(others[0], ("", 0))
                if kind == "constant":
                    return sign * _signed(value)
        return None

    def _value(self, step: _Step, state: _State) -> Value | None:
        """Returns what is known of the register that a step writes first."""
        if len(step.registers) < 1 or step.registers[0] not in step.writes:
            return None
        sources = step.registers[1:] or step.registers[:1]
        if step.name in ("mov", "movw", "movs") and len(step.registers) == 1 and step.immediates:
            return ("constant", step.immediates[0])
        known = self._known(sources[0], state)
        if sources[0] == "pc":
            known = ("constant", (step.address + 4) & ~3)
        match step.name:
            case "ldr":
                return self._loaded(step)
            case "mov" | "movs":
                return known
            case "movt":
                kind, value = state.values.get(step.registers[0], ("", 0))
                if kind == "constant":
                    return ("constant", value & 0xFFFF | step.immediates[0] << 16)
            case "adr":
                return ("constant", ((step.address + 4) & ~3) + step.immediates[-1])
            case "orr" if known is not None and known[0] == "behind":
                return known  # the bit that says Thumb
            case "add" if not step.immediates:
                for register in step.registers[-2:]:
                    kind, value = state.values.get(register, ("", 0))
                    if kind == "constant":
                        return ("behind", value)
            case "add" | "addw" | "sub" | "subw" if step.immediates and len(sources) == 1:
                sign = 1 if step.name.startswith("add") else -1
                if known is not None and known[0] == "stack":
                    return ("stack", known[1] - sign * step.immediates[-1])
                if known is not None and known[0] == "constant":
                    return ("constant", known[1] + sign * step.immediates[-1] & 0xFFFFFFFF)
            case "bfc" if known is not None and known[0] == "stack":  # aligns downwards
                return ("stack", known[1] + (1 << step.immediates[1]) - 1)
            case "bic" if known is not None and known[0] == "stack" and step.immediates:
                return ("stack", known[1] + step.immediates[-1])
        return None

    def _known(self, register: str, state: _State) -> Value | None:
        return ("stack", state.depth) if register == "sp" else state.values.get(register)

    def _loaded(self, step: _Step) -> Value | None:
        """Returns the constant that a load relative to PC gets."""
        if step.base != "pc" or step.index:
            return None
        word = self._bytes(((step.address + 4) & ~3) + step.displacement, 4)
        return ("constant", int.from_bytes(word, "little")) if len(word) == 4 else None

    def _table(self, step: _Step) -> list[int]:
        """Returns where a table branch goes: the table ends where its first target begins."""
        width = 1 if step.name == "tbb" else 2
        targets: list[int] = []
        at = step.end
        while not targets or at < min(targets):
            entry = int.from_bytes(self._bytes(at, width), "little")
            if entry == 0 and targets:
                break  # the byte that aligns the code behind it
            targets.append(step.end + 2 * entry)
            at += width
        return sorted(set(targets))

    def _bytes(self, address: int, size: int) -> bytes:
        for piece in self._pieces:
            if piece.address <= address < piece.address + len(piece.content):
                offset = address - piece.address
                return piece.content[offset : offset + size]
        return b""

    def _step(self, address: int) -> _Step | None:
        if address not in self._steps:
            self._decode_from(address)
        return self._steps.get(address)

    def _decode_from(self, address: int) -> None:
        """Decodes on from an address: what an IT controls is known only behind it."""
        while address not in self._steps:
            code = self._bytes(address, 1024)
            if len(code) < 2:
                return
            special = _thumb_v81.decode(code[:4], address)
            if special is not None:
                self._steps[address] = _Step(
                    address,
                    address + 4,
                    special.name,
                    writes=tuple(special.writes | special.based),
                    conditional=special.conditional,
                    target=special.target,
                )
                address += 4
                continue
            start = address
            for one in self._decoder.disasm(code, address):
                offset = one.address - start
                if one.address in self._steps or _thumb_v81.decode(
                    code[offset : offset + 4], one.address
                ):
                    break
                step = _step_of(one)
                self._steps[one.address] = step
                address = step.end
                if not step.conditional and (step.name in ("b", "bx") or "pc" in step.writes):
                    return
            if address == start:
                size = 4 if code[1] >> 3 >= 0x1D else 2
                self._steps[address] = _Step(address, address + size, "unknown")
                address += size


def _decoder() -> Any:
    import capstone

    made = capstone.Cs(
        capstone.CS_ARCH_ARM,
        capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8,
    )
    made.detail = True
    return made


def _step_of(one: Any) -> _Step:
    from capstone import arm

    registers: list[str] = []
    immediates: list[int] = []
    base = index = ""
    displacement = 0
    for operand in one.operands:
        if operand.type == arm.ARM_OP_REG:
            registers.append(_register(one, operand.reg))
        elif operand.type == arm.ARM_OP_IMM:
            immediates.append(operand.imm)
        elif operand.type == arm.ARM_OP_MEM:
            base = _register(one, operand.mem.base)
            index = _register(one, operand.mem.index) if operand.mem.index else ""
            displacement = operand.mem.disp
    if base and immediates:  # behind the brackets: added afterwards
        displacement = immediates[-1]
    name = one.insn_name()
    name = "movt" if one.mnemonic.startswith("movt") else name
    branch = name in ("b", "bl", "blx", "cbz", "cbnz")
    target = immediates[-1] & 0xFFFFFFFF if branch and immediates else None
    _, written = one.regs_access()
    writes = {_register(one, number) for number in written}
    if one.writeback and base:
        writes.add(base)
    if name in ("b", "bl", "blx", "cbz", "cbnz", "tbb", "tbh"):
        writes -= {"pc"}
    return _Step(
        one.address,
        one.address + one.size,
        name,
        tuple(registers),
        tuple(immediates),
        base,
        index,
        displacement,
        one.writeback,
        one.cc not in (arm.ARM_CC_AL, arm.ARM_CC_INVALID) and name != "it",
        target,
        tuple(writes),
    )


def _register(one: Any, number: int) -> str:
    name = one.reg_name(number)
    return str(_NAMES.get(name, name))


def _on_sp(step: _Step) -> bool:
    return step.registers[:1] == ("sp",) and step.writeback


def _signed(word: int) -> int:
    return word - (1 << 32) if word & 1 << 31 else word
