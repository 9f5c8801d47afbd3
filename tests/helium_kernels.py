"""Kernel calls compiled by themselves for a Cortex-M55 and run in QEMU, with guarded buffers.

Every call runs twice. First its buffers lie between noise that must survive. Then its input
lies at the very end of a memory, behind which reading faults. A call whose input shares bytes
with its output runs once.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.codegen.environment import render
from uhost.kernels._kernel import KernelCall

_WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMPILERS = {
    "arm_gcc": ("arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m55", "-mfloat-abi=hard"),
    "zig": (
        *(sys.executable, "-m", "ziglang", "cc", "-target", "thumb-freestanding-eabihf"),
        *("-mcpu=cortex_m55+mve+fp_armv8d16", "-fno-sanitize=undefined"),
    ),
}
# Instruction memory, SRAM, and data memory: behind the last of them there is nothing.
_CODE, _RAM, _END = 0x10000000, 0x31000000, 0x30080000
_RAM_BYTES = 1 << 21
_GUARD_BYTES = 64
_LINK = f"""
SECTIONS
{{
    . = {_CODE:#x};
    .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) }}
    /DISCARD/ : {{ *(.ARM.*) }}
}}
"""
_PRELUDE = """
#include <stdint.h>
#include <stddef.h>

void *memset(void *target, int value, size_t size)
{
    for (volatile uint8_t *byte = target; size > 0; size--) { *byte++ = (uint8_t)value; }
    return target;
}

void *memcpy(void *target, const void *source, size_t size)
{
    const uint8_t *from = source;
    for (volatile uint8_t *byte = target; size > 0; size--) { *byte++ = *from++; }
    return target;
}
"""
_MAIN = """
static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void write_file(const char *name, uint32_t length, const void *start, uint32_t size)
{
    const uint32_t opening[3] = { (uint32_t)name, 5, length };
    const uint32_t writing[3] = { (uint32_t)semihost(1, opening), (uint32_t)start, size };

    (void)semihost(5, writing);
    (void)semihost(2, writing);
}

static void finish(uint32_t status)
{
    const uint32_t argument[2] = { 0x20026, status };

    (void)semihost(0x20, argument);
    for (;;) { }
}

__attribute__((used)) static void run(void)
{
%(calls)s
    write_file("first.bin", 9, (void *)RAM, %(ram_bytes)du);
%(again)s
    write_file("second.bin", 10, (void *)RAM, %(ram_bytes)du);
    finish(0);
}

__attribute__((naked)) static void reset(void)
{
    __asm__ volatile("ldr r0, =0xE000ED88\\n"
                     "ldr r1, [r0]\\n"
                     "orr r1, r1, #0x00F00000\\n"
                     "str r1, [r0]\\n"
                     "dsb\\n"
                     "isb\\n"
                     "b run\\n"
                     ".ltorg\\n");
}

static void fault(void)
{
    finish(1);
}

struct vectors {
    uint32_t stack;
    void (*handlers[7])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    0x30010000u,
    { reset, fault, fault, fault, fault, fault, fault },
};
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A call, its inputs and the bytes of its output.

    `displaced` is an input that shares bytes with the output: its index, and how many bytes it
    begins behind the output.
    """

    call: KernelCall
    inputs: tuple[NDArray[Any], ...]
    output_bytes: int
    displaced: tuple[int, int] | None = None


def run_all(cases: Sequence[Case], compiler: str, folder: Path) -> list[NDArray[np.int8]]:
    """Returns each call's output; fails if anything but outputs and scratch has changed."""
    noise = np.random.default_rng(0).integers(0, 256, _RAM_BYTES, dtype=np.uint8)
    top = _GUARD_BYTES
    free = np.zeros(_RAM_BYTES, bool)
    outputs: list[slice] = []
    names: dict[tuple[object, ...], str] = {}
    functions: list[str] = []
    calls: list[str] = []
    again: list[str] = []
    includes = sorted({name for case in cases for name in case.call.includes})

    def place(size: int, offset: int, content: bytes = b"") -> int:
        nonlocal top
        start = top + offset
        noise[start : start + len(content)] = np.frombuffer(content, np.uint8)
        top = -(-(start + size + _GUARD_BYTES) // 8) * 8
        assert top < _RAM_BYTES, "too many cases"
        return start

    for number, case in enumerate(cases):
        call = case.call
        name = names.get(call.function_key)
        if name is None:
            name = names[call.function_key] = f"kernel_{len(names)}"
            parameters = ", ".join(f"{p.ctype}{p.name}" for p in call.parameters)
            signature = f"__attribute__((noinline)) static void {name}({parameters})"
            values = {"name": name, "signature": signature, "p": dict(call.values)}
            functions.append(render(f"kernels/{call.library}/{call.template}.c.j2", values))
        # Tensors may have any alignment of their elements; scratch is aligned to 8 bytes,
        # constants to 4 or 8.
        width = case.inputs[0].itemsize
        places = {
            ("input", i): place(x.nbytes, number % 8 * width, x.tobytes())
            for i, x in enumerate(case.inputs)
        }
        if case.displaced is None:
            output = place(case.output_bytes, number % 5 * width)
        else:
            shared, behind = case.displaced
            before = max(-behind, 0)
            together = before + max(case.output_bytes, behind + case.inputs[shared].nbytes)
            output = place(together, number % 5 * width) + before
            content = case.inputs[shared].tobytes()
            places["input", shared] = output + behind
            noise[output + behind :][: len(content)] = np.frombuffer(content, np.uint8)
        places["output", 0] = output
        scratch = places["scratch", 0] = place(call.scratch_bytes, 0)
        for index, constant in enumerate(call.constants):
            content = constant.values.tobytes()
            offset = 8 if constant.alignment == 8 else 4
            places["constant", index] = place(len(content), offset, content)
        outputs.append(slice(output, output + case.output_bytes))
        free[outputs[-1]] = True
        free[scratch : scratch + call.scratch_bytes] = True
        starts = [places[p.source, p.index] for p in call.parameters]
        arguments = [
            f"({p.ctype})(RAM + {start})" for p, start in zip(call.parameters, starts, strict=True)
        ]
        calls.append(f"    {name}({', '.join(arguments)});")
        if case.displaced is not None:
            continue
        size = case.inputs[0].nbytes
        index = [p.source for p in call.parameters].index("input")
        start = f"(uint8_t *)({_END:#x}u - {size}u)"
        again.append(f"    (void)memcpy({start}, (void *)(RAM + {starts[index]}), {size}u);")
        arguments[index] = f"({call.parameters[index].ctype}){start}"
        again.append(f"    {name}({', '.join(arguments)});")
    main = _MAIN % {
        "calls": "\n".join(calls),
        "again": "\n".join(again),
        "ram_bytes": _RAM_BYTES,
    }
    head = [_PRELUDE, f"#define RAM {_RAM:#x}u"]
    head += [render(f"kernels/include/{name}.h.j2", {}) for name in includes]
    _run("\n".join([*head, *functions, main]), noise.tobytes(), compiler, folder)
    first, second = (np.fromfile(folder / f"{n}.bin", np.uint8) for n in ("first", "second"))
    touched = np.flatnonzero((first != noise) & ~free)
    assert touched.size == 0, f"wrote outside output and scratch, at {touched[:8]}"
    results = [first[where].view(np.int8) for where in outputs]
    for number, part in enumerate(outputs):
        if cases[number].displaced is not None:
            continue
        assert np.array_equal(second[part].view(np.int8), results[number]), number
    return results


def _run(source: str, ram: bytes, compiler: str, folder: Path) -> None:
    (folder / "kernels.c").write_text(source)
    (folder / "link.ld").write_text(_LINK)
    (folder / "ram.bin").write_bytes(ram)
    command = [*COMPILERS[compiler], "-std=c11", "-O2", "-ffreestanding", *_WARNINGS]
    command += ["-nostdlib", f"-Wl,-T,{folder / 'link.ld'}", f"-Wl,-e,{_CODE:#x}"]
    command += ["-o", str(folder / "kernels.elf"), str(folder / "kernels.c")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]
    simulator = ["qemu-system-arm", "-machine", "mps3-an547", "-display", "none"]
    simulator += ["-monitor", "none", "-serial", "none", "-kernel", "kernels.elf"]
    simulator += ["-semihosting-config", "enable=on,target=native"]
    simulator += ["-device", f"loader,file=ram.bin,addr={_RAM:#x},force-raw=on"]
    ran = subprocess.run(
        simulator, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 0, f"a fault, or {ran.stderr}"
