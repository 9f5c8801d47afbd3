"""The machine uhost runs on: the same C, built by the system compiler."""

from __future__ import annotations

from uhost.targets._target import Cpu, Fpu, TargetKind

TARGET = TargetKind(
    name="host",
    cpus={"": Cpu()},
    fpus={("", "double"): Fpu(("fpu", "fpu_double"))},
    libraries={},
)
