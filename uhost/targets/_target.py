"""What a target file defines: a family of CPUs, their features and their compiler flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from uhost.config.target import Target
from uhost.errors import TargetError
from uhost.registry import Registry


@dataclass(frozen=True, slots=True)
class Cpu:
    """One CPU of a family.

    `features` are the instruction-set features every such CPU has. `gcc` and `clang`
    are flags that both compilers need to emit code for it, without its FPU.
    """

    features: tuple[str, ...] = ()
    gcc: tuple[str, ...] = ()
    clang: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fpu:
    """One floating-point option of a CPU: the features it adds and the flags that select it."""

    features: tuple[str, ...] = ()
    gcc: tuple[str, ...] = ()
    clang: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TargetKind:
    """A family of CPUs that share start-up code, flags and kernel libraries.

    `cpus` maps a CPU name to its facts, `fpus` maps (CPU, option) to its FPU; a CPU
    exists with exactly the options listed. `libraries` maps a feature to the kernel
    library it makes usable, best first; `reference` always closes the list.
    """

    name: str
    cpus: Mapping[str, Cpu]
    fpus: Mapping[tuple[str, str], Fpu]
    libraries: Mapping[str, str]

    def __post_init__(self) -> None:
        for field in ("cpus", "fpus", "libraries"):
            object.__setattr__(self, field, MappingProxyType(dict(getattr(self, field))))

    def target(self, cpu: str, fpu: str) -> Target:
        """Returns the target for a CPU with the FPU option `none`, `single` or `double`.

        Raises `TargetError` for a CPU the family lacks or an option the CPU lacks.
        """
        if cpu not in self.cpus:
            raise TargetError(
                f"there is no CPU '{cpu}' in the target '{self.name}'",
                fix=f"known: {', '.join(sorted(self.cpus))}",
            )
        options = tuple(option for known, option in self.fpus if known == cpu)
        if fpu not in options:
            raise TargetError(
                f"the CPU '{cpu}' has no FPU option '{fpu}'",
                fix=f"known: {', '.join(options)}",
            )
        features = (*self.cpus[cpu].features, *self.fpus[cpu, fpu].features)
        usable = (name for feature, name in self.libraries.items() if feature in features)
        return Target(self.name, cpu, features, (*usable, "reference"))

    def gcc_flags(self, target: Target) -> tuple[str, ...]:
        """Returns the GCC flags that select the target's CPU and FPU."""
        return (*self.cpus[target.cpu].gcc, *self._fpu(target).gcc)

    def clang_flags(self, target: Target) -> tuple[str, ...]:
        """Returns the flags of `zig cc` that select the target's CPU and FPU."""
        return (*self.cpus[target.cpu].clang, *self._fpu(target).clang)

    def _fpu(self, target: Target) -> Fpu:
        """Returns the FPU option whose features the target carries."""
        wanted = tuple(f for f in target.features if f not in self.cpus[target.cpu].features)
        for (cpu, _), fpu in self.fpus.items():
            if cpu == target.cpu and fpu.features == wanted:
                return fpu
        raise TargetError(
            f"the CPU '{target.cpu}' does not exist with the features {', '.join(wanted)}",
            where=f"target {target}",
        )


TARGETS: Registry[TargetKind] = Registry("uhost.targets", "TARGET", "target")
"""Every file of this folder."""
