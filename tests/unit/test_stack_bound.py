"""The bound of the stack, from machine code whose frames are known."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from thumb_code import machine_code

from uhost.toolchain._elf import Piece, read_program
from uhost.toolchain._stack_bound import StackBound, stack_bound
from uhost.toolchain._stack_flow import Flow, FunctionFlow
from uhost.toolchain._toolchain import Image

pytestmark = pytest.mark.needs("arm_gcc")

FLAGS = ("-mcpu=cortex-m7", "-mthumb", "-O2", "-nostdlib", "-fno-inline", "-Wl,-Ttext=0x8000")


def flow(text: str, cpu: str = "cortex-m7") -> FunctionFlow:
    return Flow([Piece(0, machine_code(text, cpu))], {}).of(0)


@pytest.mark.parametrize(
    ("text", "depth_bytes"),
    [
        ("bx lr", 0),
        ("push {r4-r7, lr}\nsub sp, #12\nadd sp, #12\npop {r4-r7, pc}", 32),
        ("push {r4, lr}\nvpush {d8-d9}\nsub.w sp, sp, #1024\nb .", 8 + 16 + 1024),
        ("str lr, [sp, #-4]!\nldr pc, [sp], #4", 4),
        ("stmdb sp!, {r4, r5}\nstrd r0, r1, [sp, #-16]!\nb .", 8 + 16),
        # The deeper of two ways counts, wherever they join.
        ("cbz r0, 1f\nsub sp, #40\nadd sp, #40\n1: sub sp, #8\nadd sp, #8\nbx lr", 40),
        ("cmp r0, #0\nit eq\npopeq {r4, pc}\npush {r0-r3}\nadd sp, #16\nbx lr", 16),
        # Frames whose size is a constant in a register, and those put back from a copy of SP.
        ("ldr r3, =-4000\nadd sp, r3\nb .\n.ltorg", 4000),
        ("movw r3, #4464\nmovt r3, #1\nsub sp, sp, r3\nb .", 70000),
        ("push {r7}\nmov r7, sp\nsub sp, #64\nmov sp, r7\npush {r0-r3}\nb .", 68),
        # Aligned to 16: up to 15 bytes more.
        ("sub sp, #24\nmov r4, sp\nbfc r4, #0, #4\nmov sp, r4\nb .", 39),
        # A jump into an unrolled loop, and a table of two.
        ("push {r4}\nadr.w r0, 1f\nadd r0, r0, r1\nbx r0\nnop\n1: nop\npop {r4}\nbx lr", 4),
        ("tbb [pc, r0]\n.byte 1, 3\npush {r4}\nb .\nsub sp, #20\nb .", 20),
    ],
)
def test_depth(text: str, depth_bytes: int) -> None:
    found = flow(text)
    assert found.problems == []
    assert found.depth_bytes == depth_bytes


def test_old_cores_return_by_a_register() -> None:
    found = flow("push {r4, lr}\npop {r4}\npop {r1}\nbx r1", "cortex-m0plus")
    assert (found.depth_bytes, found.problems, found.calls) == (8, [], {})


def test_helium_between_moves_of_the_stack() -> None:
    text = "push {r4, lr}\nvpush {d8-d11}\nvldrw.u32 q0, [r0]\nvadd.i32 q0, q0, q0\n"
    loop = "dls lr, r1\n1: vstrw.32 q0, [r0], #16\nle lr, 1b\nvpop {d8-d11}\npop {r4, pc}"
    found = flow(text + loop, "cortex-m55")
    assert (found.depth_bytes, found.problems) == (40, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1: push {r0}\nb 1b", "takes stack in a loop"),
        ("sub sp, sp, r0\nbx lr", "moves its stack pointer by what is not a constant"),
        ("blx r3\nb .", "calls through a pointer"),
        ("ldr r3, [r0]\nbx r3", "jumps through a pointer"),
        ("b .+4096", "goes to 0x00001000, where the image has no code"),
    ],
)
def test_what_has_no_bound(text: str, problem: str) -> None:
    assert flow(text).problems == [problem]


def linked(folder: Path, code: str) -> Image:
    (folder / "code.c").write_text(code)
    subprocess.run(
        ["arm-none-eabi-gcc", *FLAGS, "-e", "run", "code.c", "-o", "code.elf"],
        cwd=folder,
        check=True,
    )
    elf = folder / "code.elf"
    return Image(elf, "arm_gcc", 0, 0, 0, read_program(elf).symbols)


def test_depths_add_up_along_calls(tmp_path: Path) -> None:
    image = linked(
        tmp_path,
        """
        void use(void *bytes);
        __attribute__((naked)) void use(void *bytes)
        {
            __asm__("push {r0-r3}\\n pop {r0-r3}\\n bx lr");
        }
        static void inner(void) { char bytes[100]; use(bytes); }
        static void other(void) { char bytes[40]; use(bytes); }
        void run(void) { other(); inner(); use(0); }
        """,
    )
    bound = stack_bound(image, "run")
    assert bound.deepest == ("run", "inner", "use")
    frames = {"run": 8, "inner": 100 + 12, "use": 16}
    assert bound == StackBound(sum(frames.values()), bound.deepest)


def test_recursion_and_pointers_are_named(tmp_path: Path) -> None:
    image = linked(
        tmp_path,
        """
        int even(unsigned n);
        int odd(unsigned n) { volatile unsigned m = n; return m == 0 ? 0 : 1 + even(m - 1); }
        int even(unsigned n) { volatile unsigned m = n; return m == 0 ? 1 : 1 + odd(m - 1); }
        int (*volatile choice)(void);
        int indirect(void) { return choice() + 1; }
        int run(void) { return even(4) + indirect(); }
        """,
    )
    bound = stack_bound(image, "run")
    assert bound.size_bytes is None
    assert bound.why == (
        "even and odd may call one another again and again",
        "indirect calls through a pointer",
    )
    assert stack_bound(image, "ruin").why == ("the image has no function 'ruin'",)


def test_assembler_with_a_loop_declares_its_stack(tmp_path: Path) -> None:
    code = """
        __attribute__((naked)) void run(int times)
        {{
            __asm__({declared} "1: push {{r0-r3}}\\n subs r0, #1\\n bne 1b\\n bx lr");
        }}
        """
    image = linked(tmp_path, code.format(declared='""'))
    assert stack_bound(image, "run").why == ("run takes stack in a loop",)
    words = r'"0: .pushsection .uhost.stack, \"\", %progbits\n.word 0b, 304\n.popsection\n"'
    image = linked(tmp_path, code.format(declared=words))
    assert stack_bound(image, "run") == StackBound(304, ("run",))


def test_frames_are_those_the_compiler_tells(tmp_path: Path) -> None:
    bodies = "".join(
        f"int f{n}(int a) {{ volatile int b[{n}]; b[0] = a; return g(b, {n}) + b[0]; }}\n"
        for n in (1, 3, 30, 300, 3000)
    )
    code = "int g(volatile int *b, int n); int g(volatile int *b, int n) { return b[0] + n; }\n"
    calls = " + ".join(f"f{n}(1)" for n in (1, 3, 30, 300, 3000))
    image = linked(tmp_path, f"{code}{bodies}int run(void) {{ return {calls}; }}\n")
    subprocess.run(
        ["arm-none-eabi-gcc", *FLAGS[:3], "-fno-inline", "-fstack-usage", "-c", "code.c"],
        cwd=tmp_path,
        check=True,
    )
    told = re.findall(r":(\w+)\t(\d+)\tstatic", (tmp_path / "code.su").read_text())
    assert len(told) == 7
    flows = Flow(read_program(image.elf).pieces, {})
    for name, size in told:
        assert flows.of(image.symbols[name].address).depth_bytes == int(size), name
