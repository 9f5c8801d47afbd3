"""RISC-V, 32 bits: cores with integer multiply and compressed instructions, no FPU.

The control registers that start-up needs became an extension of their own (Zicsr). GCC
is asked for the older specification, which has them in the base: it finds its libraries
by the name without Zicsr. Zig's model `generic_rv32` is the base alone.
"""

from __future__ import annotations

from uhost.targets._target import Cpu, Fpu, TargetKind

_GCC = ("-misa-spec=2.2", "-mabi=ilp32", "-msmall-data-limit=0")
_CLANG = ("-target", "riscv32-freestanding-none", "-mabi=ilp32", "-msmall-data-limit=0")

TARGET = TargetKind(
    name="riscv",
    cpus={
        "rv32imc": Cpu(
            gcc=("-march=rv32imc", *_GCC),
            clang=(*_CLANG, "-mcpu=generic_rv32+m+c+zicsr"),
        ),
        "rv32imac": Cpu(
            gcc=("-march=rv32imac", *_GCC),
            clang=(*_CLANG, "-mcpu=generic_rv32+m+a+c+zicsr"),
            runs=("rv32imc",),
        ),
    },
    fpus={("rv32imc", "none"): Fpu(), ("rv32imac", "none"): Fpu()},
    libraries={},
)
