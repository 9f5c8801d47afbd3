"""Partitioning: which target, library and kernel each operator gets, and why no earlier one.

The first device target is the CPU, which drives the others. Targets after it are asked
first, in their order, and the CPU takes what is left: it takes everything, so that asked
first it would leave nothing to an accelerator. Within a target its libraries are asked in
their order, within a library the most specialised kernel first. The first that takes the
operator gets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uhost.config._findings import nearest
from uhost.config.compilation import KernelChoice
from uhost.config.target import Target
from uhost.errors import ConfigError, UnsupportedOperatorError
from uhost.ir.graph import BoundOperator, Graph
from uhost.kernels._kernel import Kernel, KernelCall, candidates

_LIST = "`uhost inspect` with --board lists the operators"


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A kernel that was asked before the chosen one and refused, or a library without any.

    `target` is the target's kind; `kernel` is "" where the library has none for the operator.
    """

    target: str
    library: str
    kernel: str
    reason: str

    @property
    def place(self) -> str:
        """Target, library and kernel in short: `cortex_m dsp/conv_2d`."""
        return f"{self.target} {self.library}/{self.kernel}".rstrip("/")

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The kernel `library`/`name` chosen for one operator on `target`, and who refused before.

    `forced` says that the user chose the library, so that no other was asked.
    """

    target: str
    library: str
    name: str
    call: KernelCall
    forced: bool = False
    passed_over: tuple[PassedOver, ...] = ()


def asked(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Returns the device targets in the order in which they are offered an operator."""
    return (*targets[1:], targets[0])


def print_order(targets: Sequence[Target]) -> str:
    """Returns the order of asking as text: `npu (npu), cortex_m (dsp, reference)`."""
    return ", ".join(f"{t.kind} ({', '.join(t.libraries)})" for t in asked(targets))


def select(
    graph: Graph, targets: Sequence[Target], views: frozenset[str], forced: Mapping[str, str]
) -> dict[str, Selection]:
    """Returns operator name → selection, for every operator but the `views`, which need no code.

    `forced` maps operators to the library that must take them. Raises `ConfigError` with
    everything wrong in it, and `UnsupportedOperatorError` with all operators that no
    kernel takes.
    """
    _check_names(graph, targets, views, forced)
    chosen: dict[str, Selection] = {}
    untaken: list[str] = []
    refused: list[str] = []
    for bound in graph.bound_operators():
        if bound.name in views:
            continue
        found = _choose(bound, targets, forced.get(bound.name))
        if isinstance(found, Selection):
            chosen[bound.name] = found
        else:
            line = f"{bound.name} ({bound.kind}): {'; '.join(map(str, found))}"
            (refused if bound.name in forced else untaken).append(line)
    if refused:
        raise ConfigError(
            f"{len(refused)} operator(s) cannot have the kernel library chosen for them:\n  "
            + "\n  ".join(refused),
            where=f"model '{graph.name}'",
            fix="choose another library, or leave the choice to uhost",
        )
    if untaken:
        raise UnsupportedOperatorError(
            f"no kernel of {print_order(targets)} takes {len(untaken)} operator(s):\n  "
            + "\n  ".join(untaken),
            where=f"model '{graph.name}'",
        )
    return chosen


def forced_kernels(
    choices: Iterable[KernelChoice], graphs: Sequence[Graph]
) -> dict[str, dict[str, str]]:
    """Returns graph name → (operator → library), from the user's choices.

    NAME means that operator of every graph that has it, MODEL.NAME that of one graph.
    Raises `ConfigError` with all names that no graph has.
    """
    libraries = {choice.operator: choice.library for choice in choices}
    forced: dict[str, dict[str, str]] = {}
    known: set[str] = set()
    for graph in graphs:
        forced[graph.name] = {}
        for operator in graph.operators:
            everywhere, here = operator.name, f"{graph.name}.{operator.name}"
            known |= {everywhere, here}
            library = libraries.get(here, libraries.get(everywhere))
            if library is not None:
                forced[graph.name][operator.name] = library
    unknown = [name for name in libraries if name not in known]
    if unknown:
        lines = [f"no model has an operator '{n}'. {nearest(n, sorted(known))}" for n in unknown]
        raise ConfigError("\n".join(map(str.rstrip, lines)), where="key kernels", fix=_LIST)
    return forced


def _check_names(
    graph: Graph, targets: Sequence[Target], views: frozenset[str], forced: Mapping[str, str]
) -> None:
    """Raises `ConfigError` with every forced operator and library that does not exist here."""
    operators = tuple(operator.name for operator in graph.operators)
    libraries = tuple(dict.fromkeys(name for t in asked(targets) for name in t.libraries))
    wrong: list[str] = []
    for name, library in forced.items():
        if name not in operators:
            wrong.append(f"'{name}': there is no such operator. {nearest(name, operators)}")
        elif name in views:
            wrong.append(f"'{name}': a view of its input needs no kernel")
        if library not in libraries:
            wrong.append(
                f"'{name}': no device target has the kernel library '{library}'. "
                f"{nearest(library, libraries)}known: {', '.join(libraries)}"
            )
    if wrong:
        raise ConfigError(
            "kernels cannot be chosen so:\n  " + "\n  ".join(line.rstrip() for line in wrong),
            where=f"model '{graph.name}'",
            fix=_LIST,
        )


def _choose(
    bound: BoundOperator[Any], targets: Sequence[Target], only: str | None
) -> Selection | tuple[PassedOver, ...]:
    """Returns the first kernel that takes the operator, else why each one does not."""
    refusals: list[PassedOver] = []
    for target in asked(targets):
        for library in target.libraries:
            if only is not None and library != only:
                continue
            found = candidates(bound.kind, library)
            if not found:
                reason = "no kernel for this operator"
                refusals.append(PassedOver(target.kind, library, "", reason))
            for name, kernel in found:
                reason = _refusal(kernel, target, bound)
                if not reason:
                    call = kernel.lower(bound)
                    forced = only is not None
                    return Selection(target.kind, library, name, call, forced, tuple(refusals))
                refusals.append(PassedOver(target.kind, library, name, reason))
    return tuple(refusals)


def _refusal(kernel: Kernel, target: Target, bound: BoundOperator[Any]) -> str:
    """Returns why the kernel does not take the operator on the target; "" where it does."""
    lacking = [feature for feature in kernel.features if not target.has(feature)]
    return f"the target lacks {', '.join(lacking)}" if lacking else kernel.supports(bound)
