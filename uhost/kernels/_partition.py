"""Partitioning: which target each operator goes to, and which kernels there can take it.

The first device target is the CPU, which drives the others. Targets after it are asked
first, in their order, and the CPU takes what is left: it takes everything, so that asked
first it would leave nothing to an accelerator. Within a target every kernel of its
libraries that takes the operator is a variant of it; which one it gets is decided by what
they cost, for a whole module at once (`uhost/codegen/choose.py`). A kernel that states no
cost, or is a fallback, has only its place: it gets the operator where no variant comes
before it, libraries in the target's order and kernels by name, and is out of the choice
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uhost.config._findings import nearest
from uhost.config.compilation import KernelChoice
from uhost.config.target import Target
from uhost.errors import ConfigError, UnsupportedOperatorError
from uhost.ir.graph import BoundOperator, CallingAttributes, Graph
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall, Routine, candidates
from uhost.targets._cycles import cycle_model

_LIST = "`uhost inspect` with --board lists the operators"


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A kernel that cannot take the operator, or a library without any for it.

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


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A kernel that takes an operator, its call, and what that costs if the kernel says so.

    `cycles` are those of the cycle model of the target's CPU, else one an instruction. What a
    kernel's order of instructions saves is in them only where the choice is for `cycles`.
    `refused_before` kernels were asked before it and refused.
    """

    target: str
    library: str
    name: str
    call: KernelCall
    cost: Cost | None = None
    cycles: int | None = None
    refused_before: int = 0

    @property
    def place(self) -> str:
        """Library and kernel in short: `dsp/conv_2d`."""
        return f"{self.library}/{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """What an operator can have on its target: variants, in order of place, and who refused.

    More than one variant only where all of them state a cost. `forced` says that the user
    chose the library, so that no other was asked.
    """

    variants: tuple[Variant, ...]
    refused: tuple[PassedOver, ...] = ()
    forced: bool = False

    def select(self, index: int, reasons: Mapping[int, str]) -> Selection:
        """Returns the selection of one variant; `reasons` say why each other was not taken."""
        others = tuple((self.variants[i], reason) for i, reason in reasons.items())
        return Selection(self.variants[index], self.forced, self.refused, others)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The variant chosen for one operator, and why no other.

    `refused` are the kernels that cannot take it, in the order of asking; `others` those
    that can, each with what the chosen one has over it. `forced` says that the user chose
    the library.
    """

    variant: Variant
    forced: bool = False
    refused: tuple[PassedOver, ...] = ()
    others: tuple[tuple[Variant, str], ...] = ()

    @property
    def target(self) -> str:
        """The kind of the target."""
        return self.variant.target

    @property
    def library(self) -> str:
        """The kernel's library."""
        return self.variant.library

    @property
    def name(self) -> str:
        """The kernel's name in its library."""
        return self.variant.name

    @property
    def call(self) -> KernelCall:
        """The call of the kernel."""
        return self.variant.call

    @property
    def passed_over(self) -> tuple[PassedOver, ...]:
        """Who refused before the chosen one was asked."""
        return self.refused[: self.variant.refused_before]


def asked(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Returns the device targets in the order in which they are offered an operator."""
    return (*targets[1:], targets[0])


def print_order(targets: Sequence[Target]) -> str:
    """Returns the order of asking as text: `npu (npu), cortex_m (dsp, reference)`."""
    return ", ".join(f"{t.kind} ({', '.join(t.libraries)})" for t in asked(targets))


def offers(
    graph: Graph,
    targets: Sequence[Target],
    views: frozenset[str],
    forced: Mapping[str, str],
    routine: Callable[[Graph, str, bool], Routine],
    known: Mapping[str, Offer] | None = None,
    *,
    ordered: bool = False,
) -> dict[str, Offer]:
    """Returns operator name → offer, for every operator but the `views`, which need no code.

    `routine` lowers a graph that an operator runs, given its role and whether its inputs are
    read again. `known` are offers that are not asked for again. `forced` maps operators to the
    library that must take them. `ordered` says that a kernel's cycles are those of its order of
    instructions, where it states them. Raises `ConfigError` with everything wrong in it, and
    `UnsupportedOperatorError` with all operators that no kernel takes.
    """
    _check_names(graph, targets, views, forced)
    chosen: dict[str, Offer] = {}
    untaken: list[str] = []
    refused: list[str] = []
    for bound in graph.bound_operators():
        if bound.name in views:
            continue
        found = (known or {}).get(bound.name)
        if found is None:
            found = _offer(bound, targets, forced.get(bound.name), routine, ordered)
        if found.variants:
            chosen[bound.name] = found
        else:
            line = f"{bound.name} ({bound.kind}): {'; '.join(map(str, found.refused))}"
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


def _offer(
    bound: BoundOperator[Any],
    targets: Sequence[Target],
    only: str | None,
    routine: Callable[[Graph, str, bool], Routine],
    ordered: bool,
) -> Offer:
    """Returns what the first target that takes the operator offers, else who refused it."""
    refused: list[PassedOver] = []
    for target in asked(targets):
        variants: list[Variant] = []
        for library in target.libraries:
            if only is not None and library != only:
                continue
            found = candidates(bound.kind, library)
            if not found:
                reason = "no kernel for this operator"
                refused.append(PassedOver(target.kind, library, "", reason))
            for name, kernel in found:
                reason = _refusal(kernel, target, bound)
                if not reason and variants and kernel.cost is None:
                    reason = "states no cost, and others come before it"
                elif not reason and variants and kernel.is_fallback:
                    reason = "is for what no other takes"
                if reason:
                    refused.append(PassedOver(target.kind, library, name, reason))
                    continue
                call = _call(bound, kernel, routine)
                one = _variant(bound, target, library, name, kernel, call, len(refused), ordered)
                variants.append(one)
                if kernel.cost is None:  # the first of them: there is nothing to compare
                    return Offer(tuple(variants), tuple(refused), only is not None)
        if variants:
            return Offer(tuple(variants), tuple(refused), only is not None)
    return Offer((), tuple(refused))


def _call(
    bound: BoundOperator[Any], kernel: Kernel, routine: Callable[[Graph, str, bool], Routine]
) -> KernelCall:
    at = bound.attributes
    if kernel.lower_calling is None or not isinstance(at, CallingAttributes):
        return kernel.lower(bound)
    routines = [
        routine(graph, role, at.keeps_inputs)
        for graph, role in zip(at.called, at.roles, strict=True)
    ]
    return kernel.lower_calling(bound, routines)


def _variant(
    bound: BoundOperator[Any],
    target: Target,
    library: str,
    name: str,
    kernel: Kernel,
    call: KernelCall,
    refused_before: int,
    ordered: bool,
) -> Variant:
    if kernel.cost is None:
        return Variant(target.kind, library, name, call, refused_before=refused_before)
    cost = kernel.cost(bound, call)
    model = cycle_model(target.cpu)
    cycles = cost.work.instructions if model is None else model.estimate(cost.work)
    if ordered and model is not None:
        cycles = cost.cycles.get(model.core, cycles)
    return Variant(target.kind, library, name, call, cost, cycles, refused_before)


def _refusal(kernel: Kernel, target: Target, bound: BoundOperator[Any]) -> str:
    """Returns why the kernel does not take the operator on the target; "" where it does."""
    lacking = [feature for feature in kernel.features if not target.has(feature)]
    return f"the target lacks {', '.join(lacking)}" if lacking else kernel.supports(bound)
