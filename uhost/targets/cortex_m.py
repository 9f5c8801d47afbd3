"""Arm Cortex-M: Armv6-M, Armv7-M and Armv8-M cores.

The FPU is an option of the chip, not of the core: a Cortex-M7 exists with none, with
single and with double precision, and code built for more than the chip has takes a
usage fault on the board although simulators run it. Zig's CPU models have no FPU, and
its Cortex-M33 no DSP: both are added as features.

Armv6-M (M0, M0+) knows the 16-bit Thumb instructions, has no divide and traps on
unaligned accesses: both compilers keep to that by the CPU's name. Every other core has
these instructions too, as an M4 has all of an M3's and an M7 all of an M4's. A Cortex-M33 without
the DSP extension has a name of its own here, as GCC spells it. Zig's Cortex-M55 and M85 have
no Helium (MVE) unless it is named. GCC 12 does not know the Cortex-M85, so it gets the core's
architecture, without pointer authentication (PACBTI), which nothing here uses: the code
is that of a Cortex-M55.
"""

from __future__ import annotations

from uhost.targets._target import Cpu, Fpu, TargetKind

_SOFT_ABI = "thumb-freestanding-eabi"
_HARD_ABI = "thumb-freestanding-eabihf"


_ARMV6M = ("cortex-m0plus", "cortex-m0")


def _cpu(name: str, *features: str, runs: tuple[str, ...] = _ARMV6M) -> Cpu:
    return Cpu(features, gcc=(f"-mcpu={name}", "-mthumb"), runs=runs)


def _no_fpu(model: str) -> Fpu:
    return Fpu(
        gcc=("-mfloat-abi=soft",),
        clang=("-target", _SOFT_ABI, f"-mcpu={model}"),
    )


def _fpu(mfpu: str, model: str, *features: str) -> Fpu:
    return Fpu(
        features,
        gcc=(f"-mfpu={mfpu}", "-mfloat-abi=hard"),
        clang=("-target", _HARD_ABI, f"-mcpu={model}"),
    )


TARGET = TargetKind(
    name="cortex_m",
    cpus={
        "cortex-m0": _cpu("cortex-m0", runs=("cortex-m0plus",)),
        "cortex-m0plus": _cpu("cortex-m0plus", runs=("cortex-m0",)),
        "cortex-m3": _cpu("cortex-m3"),
        "cortex-m4": _cpu("cortex-m4", "dsp", runs=("cortex-m3", *_ARMV6M)),
        "cortex-m7": _cpu("cortex-m7", "dsp", runs=("cortex-m4", "cortex-m3", *_ARMV6M)),
        "cortex-m33": _cpu("cortex-m33", "dsp"),
        "cortex-m33+nodsp": _cpu("cortex-m33+nodsp"),
        "cortex-m55": _cpu("cortex-m55", "dsp", "mve", runs=_ARMV6M),
        "cortex-m85": Cpu(
            ("dsp", "mve"),
            gcc=("-march=armv8.1-m.main+dsp+mve.fp+fp.dp", "-mtune=cortex-m55", "-mthumb"),
            runs=("cortex-m55", *_ARMV6M),
        ),
    },
    fpus={
        ("cortex-m0", "none"): _no_fpu("cortex_m0"),
        ("cortex-m0plus", "none"): _no_fpu("cortex_m0plus"),
        ("cortex-m3", "none"): _no_fpu("cortex_m3"),
        ("cortex-m4", "none"): _no_fpu("cortex_m4"),
        ("cortex-m4", "single"): _fpu("fpv4-sp-d16", "cortex_m4+vfp4d16sp", "fpu"),
        ("cortex-m7", "none"): _no_fpu("cortex_m7"),
        ("cortex-m7", "single"): _fpu("fpv5-sp-d16", "cortex_m7+fp_armv8d16sp", "fpu"),
        ("cortex-m7", "double"): _fpu("fpv5-d16", "cortex_m7+fp_armv8d16", "fpu", "fpu_double"),
        ("cortex-m33", "none"): _no_fpu("cortex_m33+dsp"),
        ("cortex-m33", "single"): _fpu("fpv5-sp-d16", "cortex_m33+dsp+fp_armv8d16sp", "fpu"),
        ("cortex-m33+nodsp", "none"): _no_fpu("cortex_m33-dsp"),
        ("cortex-m55", "double"): _fpu("auto", "cortex_m55+mve+fp_armv8d16", "fpu", "fpu_double"),
        ("cortex-m85", "double"): _fpu("auto", "cortex_m85+mve+fp_armv8d16", "fpu", "fpu_double"),
    },
    libraries={"mve": "mve", "dsp": "dsp", "fpu": "fpu"},
)
