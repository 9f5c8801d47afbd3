"""What a target file defines: a family of CPUs, their features and their compiler flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from uhost.config._findings import nearest
from uhost.config.target import Target
from uhost.errors import TargetError
from uhost.registry import Registry


@dataclass(frozen=True, slots=True)
class Cpu:
    """One CPU of a family.

    `features` are the instruction-set features every such CPU has. `gcc` and `clang`
    are flags that both compilers need to emit code for it, without its FPU. `runs` are
    the other CPUs of the family whose code it runs as well.
    """

    features: tuple[str, ...] = ()
    gcc: tuple[str, ...] = ()
    clang: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


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
    library it makes usable, best first; `reference` closes the list, except for an
    `accelerator`: what it cannot do is left to the CPU that drives it.
    """

    name: str
    cpus: Mapping[str, Cpu]
    fpus: Mapping[tuple[str, str], Fpu]
    libraries: Mapping[str, str]
    accelerator: bool = False

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
        return Target(self.name, cpu, features, self.libraries_for(features))

    def complete(
        self,
        cpu: str | None = None,
        features: Sequence[str] | None = None,
        libraries: Sequence[str] | None = None,
    ) -> Target:
        """Returns the target with what is not given taken from the kind.

        Without `cpu`, the only one there is. Without `features`, the CPU's own and those of
        its least FPU option. Without `libraries`, all that the features make usable. Raises
        `TargetError` for a CPU that must be given, and for features no such CPU has.
        """
        if cpu is None:
            if len(self.cpus) > 1:
                raise TargetError(
                    f"the target '{self.name}' needs a CPU", fix=f"known: {', '.join(self.cpus)}"
                )
            (cpu,) = self.cpus
        least = next((option for known, option in self.fpus if known == cpu), "none")
        own = self.target(cpu, least).features
        if features is not None:
            own = self._ordered(cpu, features)
        return Target(self.name, cpu, own, tuple(libraries or self.libraries_for(own)))

    def codes_for(self, cpu: str) -> tuple[str, ...]:
        """Returns the CPUs whose code runs on `cpu`: itself first."""
        return (cpu, *self.cpus[cpu].runs)

    def libraries_for(self, features: Sequence[str]) -> tuple[str, ...]:
        """Returns the kernel libraries that code with these features can use, best first."""
        usable = (name for feature, name in self.libraries.items() if feature in features)
        return (*usable, *(() if self.accelerator else ("reference",)))

    def _ordered(self, cpu: str, features: Sequence[str]) -> tuple[str, ...]:
        """Returns the features in the order of the kind; an FPU's must be one option's."""
        core = self.cpus[cpu].features
        options = [fpu.features for (known, _), fpu in self.fpus.items() if known == cpu]
        known = list(dict.fromkeys([*core, *(name for option in options for name in option)]))
        named = f"the CPU '{cpu}'" if cpu else f"the target '{self.name}'"
        for name in features:
            if name not in known:
                raise TargetError(
                    f"{named} has no feature '{name}'",
                    fix=f"{nearest(name, known)}known: {', '.join(known) or 'none'}",
                )
        wanted = tuple(name for name in known if name in features and name not in core)
        if wanted not in options:
            listed = "; ".join(", ".join(option) or "none" for option in options)
            raise TargetError(
                f"{named} does not exist with the features {', '.join(features)}",
                fix=f"of an FPU, give one of: {listed}",
            )
        return (*(name for name in core if name in features), *wanted)

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
