"""C1, `CompilationConfig`: the constraints that the result of a compilation must meet."""

from __future__ import annotations

from dataclasses import dataclass

from uhost.config.target import Target


@dataclass(frozen=True, slots=True)
class Executor:
    """How a model is called: ahead-of-time code with a C interface.

    `link_params` puts the weights into the code; without it they are an argument of run.
    `alignment_bytes` is that of the arena and of every tensor in it. `shared_arena` lets
    the models of one module use one arena of the largest size, one after another.
    """

    name: str = "aot"
    link_params: bool = True
    interface_api: str = "c"
    alignment_bytes: int = 8
    shared_arena: bool = True


@dataclass(frozen=True, slots=True)
class Runtime:
    """What the generated code needs around it: the C runtime only.

    With `system_lib`, a linked image carries its models in a table that the RPC server
    reads; without it, the models are called by the application alone.
    """

    name: str = "crt"
    system_lib: bool = True


@dataclass(frozen=True, slots=True)
class Pool:
    """A memory region that a workspace (arena) or constants (weights) may live in.

    `size_bytes` None means unlimited. `targets` are the target kinds that may use it,
    all of them where empty. A pool of higher `speed` is preferred.
    """

    name: str
    size_bytes: int | None = None
    alignment_bytes: int = 8
    targets: tuple[str, ...] = ()
    speed: int = 1


@dataclass(frozen=True, slots=True)
class CompilationConfig:
    """Pairs a host target with device targets; frozen, hashable, equal by value.

    `numerics` names the reference whose integer results the module reproduces.
    """

    host: Target
    targets: tuple[Target, ...]
    executor: Executor = Executor()
    runtime: Runtime = Runtime()
    workspace_pools: tuple[Pool, ...] = (Pool("ram"),)
    constant_pools: tuple[Pool, ...] = (Pool("flash"),)
    numerics: str = "tflm"

    @property
    def target(self) -> Target:
        """The first device target: the CPU."""
        return self.targets[0]
