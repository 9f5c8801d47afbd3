"""An accelerator that a CPU drives; its kernels are plain C here."""

from __future__ import annotations

from uhost.targets._target import Cpu, Fpu, TargetKind

TARGET = TargetKind(
    name="npu",
    cpus={"npu1": Cpu(("npu",))},
    fpus={("npu1", "none"): Fpu()},
    libraries={"npu": "npu"},
    accelerator=True,
)
