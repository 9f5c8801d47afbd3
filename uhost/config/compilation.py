"""C1, `CompilationConfig`: the constraints that the result of a compilation must meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from uhost.config._findings import Finding, check, nearest, not_known
from uhost.config.target import Target
from uhost.errors import ConfigError

T = TypeVar("T")

AlignmentBytes = Literal[8, 16, 32, 64, 128, 256]
"""No tensor type needs less than 8."""

Optimize = Literal["speed", "cycles", "balanced", "size", "ram"]
"""What kernels are chosen for."""

Numerics = Literal["tflm"]
"""The references whose integer results a module can reproduce."""


@dataclass(frozen=True, slots=True)
class Executor:
    """How a model is called: ahead-of-time code with a C interface."""

    name: str = "aot"
    link_params: Annotated[
        bool, Meta(description="Put the weights into the code; else run takes them as an argument.")
    ] = True
    params_placement: Annotated[
        Literal["ram", "flash"],
        Meta(
            description="Where a board has weights that are not in the code: in RAM, sent over "
            "RPC, or at flash addresses of their own, which stay when the code changes."
        ),
    ] = "ram"
    interface_api: Annotated[
        Literal["c"], Meta(description="What the application calls: C functions.")
    ] = "c"
    alignment_bytes: Annotated[
        AlignmentBytes, Meta(description="Alignment of the arena and of every tensor in it.")
    ] = 8
    shared_arena: Annotated[
        bool, Meta(description="One arena of the largest size for all models, used in turn.")
    ] = True
    keep_input: Annotated[
        bool,
        Meta(description="Leave the inputs in the arena; else their bytes are used again."),
    ] = False
    c_prefix: Annotated[
        str,
        Meta(
            pattern="^([A-Za-z_][A-Za-z0-9_]*)?$",
            description="Also write the header of microTVM's names, with this prefix: `tvmgen`.",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What the generated code needs around it: the C runtime only."""

    name: str = "crt"
    system_lib: Annotated[
        bool,
        Meta(description="Add the firmware whose RPC server runs the models; else only their C."),
    ] = True


@dataclass(frozen=True, slots=True)
class Pool:
    """A memory region of the board that a workspace (arena) or constants (weights) may live in.

    Of the pools that every device target may use and that are large enough, the one of the
    highest `speed` is taken; of equals, the first.
    """

    name: Annotated[str, Meta(description="A memory region of the board.")]
    size_bytes: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="How much of it may be used; null: all of it."),
    ] = None
    alignment_bytes: Annotated[
        Literal[1, 2, 4, AlignmentBytes],
        Meta(description="What is put there is aligned so, at least."),
    ] = 1
    targets: Annotated[
        tuple[str, ...], Meta(description="The target kinds that may use it; empty: all.")
    ] = ()
    speed: Annotated[int, Meta(ge=0, description="Pools of higher speed are preferred.")] = 1


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The kernel library that one operator must use: `operator` is NAME or MODEL.NAME."""

    operator: str
    library: str


EXECUTORS: Mapping[str, type] = MappingProxyType({"aot": Executor})
"""Executor name → the dataclass whose fields, but for `name`, are its options."""

RUNTIMES: Mapping[str, type] = MappingProxyType({"crt": Runtime})
"""Runtime name → the dataclass whose fields, but for `name`, are its options."""


@dataclass(frozen=True, slots=True)
class CompilationConfig:
    """Pairs a host target with device targets; frozen, hashable, equal by value.

    `targets` are in order of preference, the CPU that runs the program among them.
    `numerics` names the reference whose integer results the module reproduces. Kernels are
    chosen for `optimize`; the models' code and constants take no more than
    `flash_limit_bytes`, their arenas no more than `ram_limit_bytes`.
    Raises `ConfigError` for values that contradict one another.
    """

    host: Target
    targets: tuple[Target, ...]
    executor: Executor = Executor()
    runtime: Runtime = Runtime()
    workspace_pools: tuple[Pool, ...] = (Pool("ram"),)
    constant_pools: tuple[Pool, ...] = (Pool("flash"),)
    numerics: Numerics = "tflm"
    kernels: tuple[KernelChoice, ...] = ()
    optimize: Optimize = "speed"
    flash_limit_bytes: Annotated[int, Meta(ge=1)] | None = None
    ram_limit_bytes: Annotated[int, Meta(ge=1)] | None = None

    def __post_init__(self) -> None:
        _check_parts(self)
        kinds = [target.kind for target in self.targets]
        if not kinds:
            raise ConfigError("there is no device target", fix="give at least one target")
        _refuse_twice("target", kinds, "give each target once")
        _refuse_twice("kernel choice", [k.operator for k in self.kernels], "keep one of them")
        for what, name, known in (
            ("executor", self.executor.name, EXECUTORS),
            ("runtime", self.runtime.name, RUNTIMES),
        ):
            if name not in known:
                raise not_known(what, name, tuple(known))
        if self.executor.link_params and self.executor.params_placement != "ram":
            raise ConfigError(
                "the executor's params_placement is for weights apart from the code, and "
                "link_params puts them into it",
                fix="give one of both: params_placement, or link_params",
            )
        for what, pools in (("workspace", self.workspace_pools), ("constant", self.constant_pools)):
            _refuse_twice(f"{what} pool", [pool.name for pool in pools], "rename one of them")
            for pool in pools:
                for kind in pool.targets:
                    if kind not in kinds:
                        raise ConfigError(
                            f"the {what} pool '{pool.name}' is for the target '{kind}', "
                            "which is not selected",
                            fix=f"{nearest(kind, kinds)}selected: {', '.join(kinds)}",
                        )
            if not self._usable(pools):
                raise ConfigError(
                    f"no {what} pool may be used by all of: {', '.join(kinds)}",
                    fix="add a pool, or leave out the pools' targets",
                )

    @property
    def target(self) -> Target:
        """The first device target."""
        return self.targets[0]

    def usable_workspace_pools(self) -> tuple[Pool, ...]:
        """Returns the pools that may hold the arena, the fastest first."""
        return self._usable(self.workspace_pools)

    def usable_constant_pools(self) -> tuple[Pool, ...]:
        """Returns the pools that may hold the weights, the fastest first."""
        return self._usable(self.constant_pools)

    def _usable(self, pools: Sequence[Pool]) -> tuple[Pool, ...]:
        kinds = {target.kind for target in self.targets}
        usable = [pool for pool in pools if not pool.targets or kinds <= set(pool.targets)]
        return tuple(sorted(usable, key=lambda pool: -pool.speed))

    def to_json(self) -> str:
        """Returns the configuration as text, keys in order of declaration; ends with a newline."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> CompilationConfig:
        """Returns what `to_json` wrote; raises `ConfigError` with everything wrong in it."""
        try:
            plain = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"the configuration is not JSON: {error}", fix="give what `to_json` wrote"
            ) from error
        return cls.from_plain(plain)

    @classmethod
    def from_plain(cls, plain: object) -> CompilationConfig:
        """Returns the configuration of decoded JSON; raises `ConfigError` as `from_json` does."""
        return checked_value(plain, cls, "the configuration")


def checked_value(plain: Any, kind: type[T] | Callable[..., T], where: str) -> T:
    """Returns `plain` as a `kind`; raises one `ConfigError` with every finding."""
    if found := check(plain, kind):
        raise _refusal(found, where)
    value: T = msgspec.convert(plain, type=kind)
    return value


def _refusal(found: Sequence[Finding], where: str) -> ConfigError:
    if len(found) == 1:
        key = f", key {found[0].key}" if found[0].keys else ""
        return ConfigError(found[0].what, f"{where}{key}", found[0].fix)
    lines = "\n".join(f"  {f.key or 'the whole'}: {f.what} ({f.fix})" for f in found)
    return ConfigError(f"{len(found)} mistakes in {where}:\n{lines}", fix="correct each of them")


def _check_parts(config: CompilationConfig) -> None:
    """Raises `ConfigError` with every value of a wrong type or out of range, as for a file."""
    found: list[Finding] = []
    for name, kind in get_type_hints(CompilationConfig, include_extras=True).items():
        value = getattr(config, name)
        if get_origin(kind) is tuple and not isinstance(value, tuple):
            text = type(value).__name__
            found.append(
                Finding((name,), f"wrong value: expected a tuple, got `{text}`", "give a tuple")
            )
            continue
        try:
            plain = msgspec.to_builtins(value)
        except TypeError:
            plain = value
        found += check(plain, kind, (name,))
    if found:
        raise _refusal(found, "the configuration")


def _refuse_twice(what: str, names: Sequence[str], fix: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the {what} '{name}' is given twice", fix=fix)
