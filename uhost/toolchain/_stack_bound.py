"""How deep a function's stack can get, from the machine code of a linked program.

The code is followed from the function's entry along every branch, with the stack pointer's
distance from its value at entry; calls give the graph over which depths add up. So the bound
holds for what was linked: C of either compiler, functions of their libraries, and assembler
kernels alike. Interrupts come on top.

An assembler function whose stack pointer moves in a loop declares its bytes itself, callees
included, as a pair of words in the section `.uhost.stack`, which is not loaded: its address and
the bytes. In the templates that is one line, `UHOST_TAKES_STACK(bytes)`.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from uhost.toolchain._elf import read_program
from uhost.toolchain._stack_flow import Flow, FunctionFlow
from uhost.toolchain._toolchain import Image


@dataclass(frozen=True, slots=True)
class StackBound:
    """The most bytes that a call can put below SP at its entry, callees included.

    `size_bytes` is None where there is no bound, and `why` says what stands against it, a
    sentence each. `deepest` are the functions on the way to the deepest place, outermost first.
    """

    size_bytes: int | None = None
    deepest: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


SECTION = ".uhost.stack"


def model_stack_bound(image: Image, identifier: str) -> StackBound:
    """Returns the bound of a model by its C identifier, from where the firmware calls it."""
    wrapped = f"{identifier}_call_all"
    return stack_bound(image, wrapped if wrapped in image.symbols else f"{identifier}_run")


def stack_bound(image: Image, function: str) -> StackBound:
    """Returns the bound of a function of a program; of one for other cores than Cortex-M none."""
    with image.elf.open("rb") as stream:
        if ELFFile(stream).header["e_machine"] != "EM_ARM":
            return StackBound(None, why=("only code for Arm Cortex-M is followed",))
    if importlib.util.find_spec("capstone") is None:
        return StackBound(None, why=("the Python package 'capstone' is not installed",))
    symbol = image.symbols.get(function)
    if symbol is None:
        return StackBound(None, why=(f"the image has no function '{function}'",))
    return _Bounds(image.elf, image).of(symbol.address)


class _Bounds:
    def __init__(self, elf: Path, image: Image) -> None:
        self._flow = Flow(read_program(elf).pieces, _declared(elf))
        self._image = image
        self._known: dict[int, StackBound] = {}
        self._flows: dict[int, FunctionFlow] = {}
        self._open: list[int] = []

    def of(self, entry: int) -> StackBound:
        """Returns the bound of the function at `entry`."""
        if entry in self._known:
            return self._known[entry]
        if entry in self._open:
            cycle = " and ".join(self._name(one) for one in self._open[self._open.index(entry) :])
            return StackBound(None, why=(f"{cycle} may call one another again and again",))
        self._open.append(entry)
        flow = self._flow.of(entry)
        name = self._name(entry)
        why = [f"{name} {problem}" for problem in flow.problems]
        size_bytes: int = flow.depth_bytes
        deepest: tuple[str, ...] = (name,)
        for callee, depth_bytes in flow.calls.items():
            bound = self.of(callee)
            why += [reason for reason in bound.why if reason not in why]
            if bound.size_bytes is not None and depth_bytes + bound.size_bytes > size_bytes:
                size_bytes, deepest = depth_bytes + bound.size_bytes, (name, *bound.deepest)
        self._open.pop()
        found = StackBound(None, why=tuple(why)) if why else StackBound(size_bytes, deepest)
        self._known[entry] = found
        return found

    def _name(self, address: int) -> str:
        symbols = self._image.symbols.items()
        named = [name for name, symbol in symbols if symbol.address == address]
        return min(named, key=lambda name: (name.startswith("_"), name), default=f"0x{address:08x}")


def _declared(elf: Path) -> dict[int, int]:
    """Returns function → the bytes of stack that it declares."""
    with elf.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(SECTION)
        words = memoryview(section.data()).cast("I") if section is not None else memoryview(b"")
    return {words[at] & ~1: words[at + 1] for at in range(0, len(words), 2)}
