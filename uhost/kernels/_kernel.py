"""What a kernel file defines: which operators it takes, and the call it makes of one.

A file `uhost/kernels/LIBRARY/NAME.py` declares `KERNEL = Kernel(…)` and prints through
`templates/kernels/LIBRARY/<template>.c.j2`. Python decides every number; the
template only prints. NAME begins with the operator's name; a longer name is a variant
(`conv_2d_pointwise`), tried before the plain one.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

from uhost.config.target import Target
from uhost.errors import UnsupportedOperatorError
from uhost.ir.graph import BoundOperator, Graph
from uhost.ir.tensor import Array
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
    """

    library: str
    template: str
    values: Mapping[str, Any]
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...] = ()
    scratch_bytes: int = 0
    includes: tuple[str, ...] = ()

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
        )


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel variant: `supports` returns "" or the reason it cannot take the operator.

    `lower` returns the call for an operator that `supports` accepted. `features` are
    the CPU features the code needs.
    """

    operator: str
    supports: Callable[[BoundOperator[Any]], str]
    lower: Callable[[BoundOperator[Any]], KernelCall]
    features: tuple[str, ...] = field(default=())


def library_names() -> tuple[str, ...]:
    """Returns the kernel libraries: the sub-packages of `uhost.kernels`."""
    from uhost import kernels

    return tuple(sorted(m.name for m in pkgutil.iter_modules(kernels.__path__) if m.ispkg))


@cache
def library(name: str) -> Registry[Kernel]:
    """Returns the kernels of one library, by file stem."""
    return Registry(f"uhost.kernels.{name}", "KERNEL", f"kernel of the {name} library")


def candidates(kind: str, library_name: str) -> list[tuple[str, Kernel]]:
    """Returns the library's (name, kernel) for operator `kind`, most specialised name first."""
    kernels = library(library_name)
    stems = [n for n in kernels.names() if n == kind or n.startswith(kind + "_")]
    found = [(stem, kernels[stem]) for stem in sorted(stems, key=lambda n: (-len(n), n))]
    return [(stem, kernel) for stem, kernel in found if kernel.operator == kind]


@dataclass(frozen=True, slots=True)
class Selection:
    """The kernel chosen for one operator, and why others were passed over."""

    library: str
    name: str
    call: KernelCall
    passed_over: tuple[tuple[str, str], ...] = ()


def select(graph: Graph, target: Target, views: frozenset[str]) -> dict[str, Selection]:
    """Returns operator name → selection, by the target's libraries in order.

    Operators named in `views` need no code. Raises `UnsupportedOperatorError` with all
    operators that no library takes.
    """
    chosen: dict[str, Selection] = {}
    missing: list[str] = []
    for bound in graph.bound_operators():
        if bound.name in views:
            continue
        reasons: list[tuple[str, str]] = []
        for library_name in target.libraries:
            for stem, kernel in candidates(bound.kind, library_name):
                lacking = [f for f in kernel.features if not target.has(f)]
                reason = (
                    f"the CPU lacks {', '.join(lacking)}" if lacking else kernel.supports(bound)
                )
                if not reason:
                    chosen[bound.name] = Selection(
                        library_name, stem, kernel.lower(bound), tuple(reasons)
                    )
                    break
                reasons.append((f"{library_name}/{stem}", reason))
            if bound.name in chosen:
                break
        if bound.name not in chosen:
            why = "; ".join(f"{name}: {reason}" for name, reason in reasons) or "no kernel"
            missing.append(f"{bound.name} ({bound.kind}): {why}")
    if missing:
        raise UnsupportedOperatorError(
            f"no kernel of {', '.join(target.libraries)} takes {len(missing)} operator(s):\n  "
            + "\n  ".join(missing),
            where=f"model '{graph.name}'",
        )
    return chosen
