"""C1, `CompilationConfig`: the constraints that the result of a compilation must meet."""

from __future__ import annotations

from dataclasses import dataclass

from uhost.config.target import Target


@dataclass(frozen=True, slots=True)
class Executor:
    """How a model is called: ahead-of-time code with a C interface.

    `alignment_bytes` is the alignment of the arena and of every tensor in it.
    """

    name: str = "aot"
    alignment_bytes: int = 8


@dataclass(frozen=True, slots=True)
class Runtime:
    """What the generated code needs around it: the C runtime only."""

    name: str = "crt"


@dataclass(frozen=True, slots=True)
class Pool:
    """A memory region that tensors may live in. `size_bytes` None means unlimited."""

    name: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CompilationConfig:
    """Pairs a host target with device targets; frozen, hashable, equal by value.

    `numerics` names the reference whose integer results the module reproduces.
    """

    host: Target
    targets: tuple[Target, ...]
    executor: Executor = Executor()
    runtime: Runtime = Runtime()
    pools: tuple[Pool, ...] = (Pool("sram"),)
    numerics: str = "tflm"

    @property
    def target(self) -> Target:
        """The first device target: the CPU."""
        return self.targets[0]
