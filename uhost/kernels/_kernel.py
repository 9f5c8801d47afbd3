"""What a kernel file defines: which operators it takes, and the call it makes of one.

A file `uhost/kernels/LIBRARY/NAME.py` declares `KERNEL = Kernel(…)` and prints through
`templates/kernels/LIBRARY/<template>.c.j2`. Python decides every number; the
template only prints. NAME begins with the operator's name; a longer name is a variant
(`conv_2d_pointwise`). Which of those that take an operator gets it is decided by their
costs. A library of an outside package is the same under entry points; its templates are a
folder `templates` beside its modules.
"""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from uhost.config._findings import nearest
from uhost.errors import ConfigError
from uhost.ir.graph import BoundOperator, Graph
from uhost.ir.tensor import Array
from uhost.kernels._cost import Cost
from uhost.kernels._overlap import Overlap
from uhost.registry import Registry


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A read-only array of the generated code, already packed as the kernel reads it.

    `role` ("weights", "bias") becomes part of its C name; its numpy type is its C type.
    """

    role: str
    values: Array
    alignment: int = 4


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the C function, in order.

    `source` is "input", "output", "constant" or "scratch"; `index` counts within the
    operator's inputs, its outputs or the call's constants.
    """

    name: str
    ctype: str
    source: str
    index: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class KernelCall:
    """One call of one C function: template, values it prints, constants, scratch.

    Two calls with equal (library, template, values, parameters) share one function.
    `values` are plain Python values (int, str, bool, float, tuples of them).
    `includes` are shared pieces of C (`templates/kernels/include/NAME.h.j2`) the
    function needs, as NAME or NAME:key=integer,…; each is printed once, in their order.
    `overlaps` says where inputs and the output may share bytes; nowhere, if it is empty.
    `routines` are the graphs that the function runs.
    """

    library: str
    template: str
    values: Mapping[str, Any]
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...] = ()
    scratch_bytes: int = 0
    includes: tuple[str, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    routines: tuple[Routine, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    @property
    def function_key(self) -> tuple[object, ...]:
        """Equal for calls that can share one function."""
        return (
            self.library,
            self.template,
            tuple(sorted(self.values.items())),
            tuple((p.name, p.ctype) for p in self.parameters),
            tuple(routine.key for routine in self.routines),
        )


@dataclass(frozen=True, slots=True, eq=False)
class NestedCall:
    """A call within another kernel's function: its arguments in C, and what it does in words.

    `cost` is that of one such call, if its kernel states it.
    """

    call: KernelCall
    arguments: tuple[str, ...]
    note: str
    cost: Cost | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Routine:
    """A graph that an operator runs, with a kernel per operator and a place for every tensor.

    Its tensors lie in `size_bytes` at the pointer `memory`. `places` maps inputs, outputs and
    states to what points at them in C, `parameters` and `constants` are what the calls read
    besides: they become the calling function's own. `features` are the CPU features needed.
    """

    graph: Graph
    calls: tuple[NestedCall, ...]
    size_bytes: int
    places: Mapping[str, str]
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...]
    features: frozenset[str]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for routines of one text."""
        return tuple((one.call.function_key, one.arguments, one.note) for one in self.calls)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel variant: `supports` returns "" or the reason it cannot take the operator.

    `lower` returns the call for an operator that `supports` accepted. `features` are
    the CPU features the code needs. `cost` states what that call takes; a kernel without it
    is chosen by its place alone. So is one that `is_fallback`: a general kernel, which states its
    cost but is not weighed against those made for the shape. `lower_calling` comes in place of
    `lower` for an operator that runs graphs: it gets them lowered.
    """

    operator: str
    supports: Callable[[BoundOperator[Any]], str]
    lower: Callable[[BoundOperator[Any]], KernelCall]
    features: tuple[str, ...] = field(default=())
    cost: Callable[[BoundOperator[Any], KernelCall], Cost] | None = None
    is_fallback: bool = False
    lower_calling: Callable[[BoundOperator[Any], Sequence[Routine]], KernelCall] | None = None


_GROUP = "uhost.kernels"


def library_names() -> tuple[str, ...]:
    """Returns the kernel libraries: sub-packages of `uhost.kernels`, and those of outside packages.

    An outside package makes a library `NAME` by its entry points of the group
    `uhost.kernels.NAME`, each an operator's or a variant's name for a `Kernel`.
    """
    outside = (group.removeprefix(f"{_GROUP}.") for group in _outside_groups())
    return tuple(sorted({*_built_in(), *outside}))


def built_in_libraries() -> tuple[str, ...]:
    """Returns the kernel libraries that no outside package adds."""
    return tuple(sorted(_built_in()))


def template_folders() -> dict[str, tuple[Path, ...]]:
    """Returns library → folders of templates that outside packages ship for it.

    The folder is `templates`, beside the module that an entry point names.
    """
    folders: dict[str, list[Path]] = {}
    for group in _outside_groups():
        for point in entry_points(group=group):
            known = folders.setdefault(group.removeprefix(f"{_GROUP}."), [])
            folder = _folder_of(point) / "templates"
            if folder not in known:
                known.append(folder)
    return {name: tuple(found) for name, found in folders.items()}


def _folder_of(point: EntryPoint) -> Path:
    """Returns the folder of the module that an entry point names, without importing it."""
    with contextlib.suppress(ModuleNotFoundError):  # of a package above the module
        spec = find_spec(point.module)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent
    raise ConfigError(
        f"the kernel '{point.name}' of an outside package cannot be found",
        where=f"entry point {point.group}: {point.value}",
        fix="reinstall the package that declares it",
    )


def _built_in() -> frozenset[str]:
    from uhost import kernels

    return frozenset(m.name for m in pkgutil.iter_modules(kernels.__path__) if m.ispkg)


def _outside_groups() -> tuple[str, ...]:
    return tuple(sorted(g for g in entry_points().groups if g.startswith(f"{_GROUP}.")))


@cache
def library(name: str) -> Registry[Kernel]:
    """Returns the kernels of one library, by file stem; `ConfigError` for an unknown library."""
    if name not in _built_in() and name not in library_names():
        known = library_names()
        raise ConfigError(
            f"there is no kernel library '{name}'",
            fix=f"{nearest(name, known)}known: {', '.join(known)}",
        )
    return Registry(f"{_GROUP}.{name}", "KERNEL", f"kernel of the {name} library")


def candidates(kind: str, library_name: str) -> list[tuple[str, Kernel]]:
    """Returns the library's (name, kernel) for operator `kind`, the longest names first."""
    kernels = library(library_name)
    stems = [n for n in kernels.names() if n == kind or n.startswith(kind + "_")]
    found = [(stem, kernels[stem]) for stem in sorted(stems, key=lambda n: (-len(n), n))]
    return [(stem, kernel) for stem, kernel in found if kernel.operator == kind]
