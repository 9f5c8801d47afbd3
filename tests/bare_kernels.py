"""Kernel calls compiled by themselves for a Cortex-M and run in Unicorn, with guarded buffers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from unicorn import UC_ARCH_ARM, UC_HOOK_BLOCK, UC_MODE_MCLASS, UC_MODE_THUMB, Uc, arm_const

from uhost.codegen.environment import render, render_include
from uhost.ir.tensor import Array
from uhost.kernels._kernel import KernelCall
from uhost.runners._counter import count_thumb
from uhost.toolchain._elf import read_program

_WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMPILERS = {
    "arm_gcc": ("arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m7", "-fno-schedule-insns"),
    "zig": (
        *(sys.executable, "-m", "ziglang", "cc", "-target", "thumb-freestanding-eabihf"),
        *("-mcpu=cortex_m7", "-fno-sanitize=undefined"),
    ),
}
_LINK = """
SECTIONS
{
    . = 0x08000000;
    .text : { KEEP(*(.text*)) *(.rodata*) }
    /DISCARD/ : { *(.ARM.*) }
}
"""
_PRELUDE = """
#include <stdint.h>
#include <stddef.h>

/* About as many instructions as the C library takes: four words at a time, at any address. */
typedef uint32_t __attribute__((may_alias, aligned(1))) word;

void *memset(void *target, int value, size_t size)
{
    const uint32_t four = (uint8_t)value * 0x01010101u;
    volatile uint8_t *to = target;

    for (; size >= 16; size -= 16, to += 16) {
        volatile word *const words = (volatile word *)to;
        words[0] = four, words[1] = four, words[2] = four, words[3] = four;
    }
    for (; size > 0; size--) { *to++ = (uint8_t)value; }
    return target;
}

void *memcpy(void *target, const void *source, size_t size)
{
    volatile uint8_t *to = target;
    const uint8_t *from = source;

    for (; size >= 16; size -= 16, to += 16, from += 16) {
        volatile word *const words = (volatile word *)to;
        const word *const read = (const word *)from;
        words[0] = read[0], words[1] = read[1], words[2] = read[2], words[3] = read[3];
    }
    for (; size > 0; size--) { *to++ = *from++; }
    return target;
}

/* What Clang calls instead. */
void __aeabi_memcpy(void *target, const void *source, size_t size) { memcpy(target, source, size); }

void __aeabi_memclr(void *target, size_t size) { memset(target, 0, size); }
"""
_CODE, _RAM, _RAM_BYTES, _STACK = 0x08000000, 0x20000000, 1 << 20, 0x30000000
_STACK_BYTES = 4096
_RETURN = 0x080FF000
_GUARD_BYTES = 64
_SAVED = tuple(getattr(arm_const, f"UC_ARM_REG_R{number}") for number in range(4, 12))


@dataclass(frozen=True, slots=True)
class Result:
    """What one call wrote, and what it took."""

    output: NDArray[np.int8]
    instructions: int


class BareKernels:
    """A program that holds the functions of some calls, and a core that runs them one by one."""

    def __init__(self, calls: Sequence[KernelCall], compiler: str, folder: Path) -> None:
        self._names: dict[tuple[object, ...], str] = {}
        elf = _build(self._source(calls), COMPILERS[compiler], folder)
        program = read_program(elf)
        self._symbols = program.symbols
        self._engine = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self._engine.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M7)
        for start, size in ((_CODE, 1 << 20), (_RAM, _RAM_BYTES), (_STACK, _STACK_BYTES)):
            self._engine.mem_map(start, size)
        for piece in program.pieces:
            assert piece.address + len(piece.content) < _RETURN
            self._engine.mem_write(piece.address, piece.content)
        self._blocks: dict[tuple[int, int], int] = {}
        self._engine.hook_add(UC_HOOK_BLOCK, self._on_block)

    def _source(self, calls: Sequence[KernelCall]) -> str:
        includes = sorted({name for call in calls for name in call.includes})
        parts = [_PRELUDE, *(render_include(name) for name in includes)]
        for call in calls:
            if call.function_key in self._names:
                continue
            name = self._names[call.function_key] = f"kernel_{len(self._names)}"
            parameters = ", ".join(f"{p.ctype}{p.name}" for p in call.parameters)
            signature = f"void {name}({parameters})"
            values = {"name": name, "signature": signature, "p": dict(call.values)}
            template = f"kernels/{call.library}/{call.template}.c.j2"
            parts.append(f"{signature};\n{render(template, values)}")
        return "\n".join(parts)

    def _on_block(self, _engine: Uc, address: int, size: int, _: object) -> None:
        self._blocks[address, size] = self._blocks.get((address, size), 0) + 1

    def run(self, call: KernelCall, x: Array | Sequence[Array], output_bytes: int) -> Result:
        """Returns the output; fails if anything else, or a saved register, has changed.

        Tensors and scratch are aligned to 8 bytes, constants to 4 only.
        """
        engine = self._engine
        inputs = [x] if isinstance(x, np.ndarray) else x
        noise = np.random.default_rng(0).integers(0, 256, _RAM_BYTES, dtype=np.uint8)
        places: dict[tuple[str, int], tuple[int, int]] = {}
        top = _GUARD_BYTES

        def place(source: str, index: int, size: int, offset: int, content: bytes = b"") -> None:
            nonlocal top
            start = top + offset
            noise[start : start + len(content)] = np.frombuffer(content, np.uint8)
            places[source, index] = (start, size)
            top = -(-(start + size + _GUARD_BYTES) // 8) * 8

        for index, tensor in enumerate(inputs):
            place("input", index, tensor.nbytes, 0, tensor.tobytes())
        place("output", 0, output_bytes, 0)
        place("scratch", 0, call.scratch_bytes, 0)
        for index, constant in enumerate(call.constants):
            place("constant", index, constant.values.nbytes, 4, constant.values.tobytes())
        assert top < _RAM_BYTES
        engine.mem_write(_RAM, noise.tobytes())
        addresses = [_RAM + places[p.source, p.index][0] for p in call.parameters]
        for number, address in enumerate(addresses[:4]):
            engine.reg_write(arm_const.UC_ARM_REG_R0 + number, address)
        # Further arguments lie on the stack, which stays aligned to 8 bytes.
        stack = _STACK + _STACK_BYTES - (4 * len(addresses[4:]) + 7) // 8 * 8
        engine.mem_write(stack, np.asarray(addresses[4:], np.uint32).tobytes())
        for number, register in enumerate(_SAVED):
            engine.reg_write(register, 0x01010101 * number)
        engine.reg_write(arm_const.UC_ARM_REG_SP, stack)
        engine.reg_write(arm_const.UC_ARM_REG_LR, _RETURN | 1)
        self._blocks.clear()
        engine.emu_start(self._symbols[self._names[call.function_key]].address | 1, _RETURN)

        after = np.frombuffer(bytes(engine.mem_read(_RAM, _RAM_BYTES)), np.uint8).copy()
        start, size = places["output", 0]
        output = after[start : start + size].view(np.int8).copy()
        for source in ("output", "scratch"):
            start, size = places[source, 0]
            after[start : start + size] = noise[start : start + size]
        assert np.array_equal(after, noise), "wrote outside output and scratch"
        assert engine.reg_read(arm_const.UC_ARM_REG_SP) == stack
        for number, register in enumerate(_SAVED):
            assert engine.reg_read(register) == 0x01010101 * number
        return Result(output, self._executed())

    def code_bytes(self, call: KernelCall) -> int:
        """Returns the size of the call's own function."""
        return self._symbols[self._names[call.function_key]].size

    def _executed(self) -> int:
        return sum(
            count * count_thumb(bytes(self._engine.mem_read(address, size)))
            for (address, size), count in self._blocks.items()
            if address != _RETURN
        )


def _build(source: str, compiler: tuple[str, ...], folder: Path) -> Path:
    (folder / "kernels.c").write_text(source)
    (folder / "link.ld").write_text(_LINK)
    elf = folder / "kernels.elf"
    command = [*compiler, "-std=c11", "-O2", "-ffreestanding", *_WARNINGS, "-nostdlib"]
    command += [f"-Wl,-T,{folder / 'link.ld'}", "-Wl,-e,0x08000000"]
    command += ["-o", str(elf), str(folder / "kernels.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return elf
