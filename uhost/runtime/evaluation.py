"""Runs samples on a device, compares with the references, and gathers every figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from uhost.codegen.lowered import Lowered
from uhost.ir.graph import Absorbed, Graph, operator_title
from uhost.ir.tensor import Array
from uhost.ops._op import OPERATORS, evaluate
from uhost.runners._runner import RunCounts
from uhost.runtime.compiled import Built
from uhost.runtime.cycles import ModelledCycles, model_cycles
from uhost.runtime.device import Device
from uhost.runtime.graph_module import GraphModule
from uhost.runtime.module import start
from uhost.runtime.samples import Sample
from uhost.toolchain._stack_bound import StackBound, model_stack_bound

FLOAT_ABSOLUTE = 1e-6
FLOAT_RELATIVE = 1e-5

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One tensor compared: `exact` bit for bit; `matches` exact, or for floats within
    1e-6 + 1e-5 · max|reference|.

    `operator` is what made it, "" where it was read after a whole run. `absorbed` are the
    source's operators that this one does as well, with the tensors inside the chain: they are
    not made, and compared here, at its end.
    """

    tensor: str
    source: str
    exact: bool
    matches: bool
    max_difference: float
    operator: str = ""
    absorbed: tuple[Absorbed, ...] = ()

    @property
    def title(self) -> str:
        """The operator, and what it does as well."""
        return operator_title(self.operator, self.absorbed)


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """One operator: multiply-accumulates, executed instructions and modelled cycles."""

    name: str
    kind: str
    macs: int
    kernel: str
    instructions: int | None = None
    modelled_cycles: int | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything measured and compared of one model on one device. Sizes in bytes.

    `stack_bytes` is the deepest stack below SP at entry of the model's run function, measured;
    `stack_bound` what the code can take at most.
    `model_ram_bytes` is arena (inputs and outputs lie in it), stack, and weights in RAM.
    `cycles` are those of the device's own counter, `modelled_cycles` what the model of the
    core gives for the executed instructions. Where there are none, `why_uncounted` and
    `why_unmodelled` say why.
    """

    model: str
    board: str
    runner: str
    toolchain: str
    clock_hz: int
    instructions: int | None
    cycles: int | None
    model_flash_bytes: int
    image_flash_bytes: int
    arena_bytes: int
    arena_lower_bound_bytes: int
    stack_bytes: int | None
    model_ram_bytes: int | None
    image_ram_bytes: int
    operators: tuple[OperatorFigures, ...]
    params_ram_bytes: int = 0
    modelled_cycles: int | None = None
    stack_bound: StackBound = field(default_factory=StackBound)
    why_uncounted: str = ""
    why_unmodelled: str = ""
    comparisons: tuple[Comparison, ...] = ()
    outputs: tuple[tuple[Array, ...], ...] = field(default=(), repr=False)

    @property
    def exact(self) -> bool | None:
        """True if all that was compared is equal bit for bit; None if nothing was."""
        return all(c.exact for c in self.comparisons) if self.comparisons else None

    @property
    def matches(self) -> bool | None:
        """True if all that was compared agrees within its tolerance; None if nothing was."""
        return all(c.matches for c in self.comparisons) if self.comparisons else None

    @property
    def max_difference(self) -> float | None:
        """The largest absolute difference over everything compared."""
        differences = [c.max_difference for c in self.comparisons]
        return float(np.max(differences)) if differences else None  # NaN wins


def compare(tensor: str, source: str, actual: Array, reference: Array) -> Comparison:
    """Returns how `actual` compares with `reference`, of equal shape and type."""
    exact = actual.tobytes() == reference.tobytes()
    if actual.dtype.kind != "f":
        difference = np.abs(actual.astype(np.int64) - reference.astype(np.int64))
        return Comparison(tensor, source, exact, exact, float(difference.max(initial=0)))
    with np.errstate(invalid="ignore"):  # infinities of one sign are equal, seen below
        difference = np.abs(actual.astype(np.float64) - reference.astype(np.float64))
    same = (actual == reference) | (np.isnan(actual) & np.isnan(reference))
    difference = np.where(same, 0.0, difference)
    finite = np.abs(reference[np.isfinite(reference)])
    limit = FLOAT_ABSOLUTE + FLOAT_RELATIVE * float(finite.max(initial=0.0))
    largest = float(difference.max(initial=0.0))
    return Comparison(tensor, source, exact, bool(largest <= limit), largest)


def measure(
    built: Built,
    device: Device,
    samples: Sequence[Sample],
    index: int = 0,
    *,
    layers: bool = False,
    count: bool = True,
    reset_each: bool = False,
    progress: Progress = lambda text: None,
    then: Callable[[GraphModule], object] = lambda executor: None,
) -> Evaluation:
    """Returns the figures of model `index`, its `samples` run in order without a reset.

    `reset_each` puts the states of the model to their initial values before every sample.
    Outputs are compared with what a sample expects. With `layers`, every tensor of the
    first sample is compared with the numpy reference as well; of a model with states, those
    of every sample, as each depends on the ones before. With `count`, the first
    sample's instructions are counted where the runner can. `then` gets the executor after
    the last sample, before it is closed.
    """
    lowered = built.compiled.models[index].lowered
    graph = lowered.graph
    comparisons: list[Comparison] = []
    outputs: list[tuple[Array, ...]] = []
    stacks: list[int] = []
    counts: RunCounts | None = None
    cycles: int | None = None
    why_uncounted = "" if count else "it was not asked for"
    if layers:
        progress("comparing every layer")
        chosen = samples if graph.states else samples[:1]
        with start(built, device, index) as executor:
            source = built.compiled.models[index].source.graph
            comparisons += compare_layers(executor, graph, chosen, source, reset_each=reset_each)
    with start(built, device, index) as executor:
        for number, sample in enumerate(samples):
            progress(f"running sample {number + 1} of {len(samples)}")
            if reset_each:
                executor.reset()
            for index, value in sample.inputs.items():
                executor.set_input(index, value)
            if number == 0 and count:
                executor.watch()
            report = executor.run()
            if number == 0:
                counts = executor.counts() if count else None
                why_uncounted = why_uncounted or executor.why_uncounted
                cycles = report.cycles
            if report.stack_bytes is not None:
                stacks.append(report.stack_bytes)
            outputs.append(tuple(executor.get_output(i) for i in range(len(graph.outputs))))
            for index, expected in sample.expected.items():
                comparisons.append(
                    compare(
                        graph.outputs[index],
                        f"golden sample {number}",
                        outputs[-1][index],
                        expected,
                    )
                )
        then(executor)
    figures = _figures(built, lowered, device, counts, cycles, stacks, comparisons, outputs)
    return replace(figures, why_uncounted=why_uncounted)


def compare_layers(
    executor: GraphModule,
    graph: Graph,
    samples: Sequence[Sample],
    source: Graph,
    *,
    reset_each: bool = False,
) -> list[Comparison]:
    """Returns every tensor the executor makes of `samples`, compared with the reference.

    `graph` is what was compiled, `source` what it was before the passes. A tensor that is
    still what it was is compared with the reference of the source, which proves the passes
    as well; one that lost channels or is new, with that of the graph. The states of all
    three go from sample to sample. One comparison per tensor: of several samples the worst.
    """
    worst: dict[tuple[str, str], Comparison] = {}
    states, source_states = graph.states, source.states
    for sample in samples:
        if reset_each:
            executor.reset()
            states, source_states = graph.states, source.states
        for index, value in sample.inputs.items():
            executor.set_input(index, value)
        made = executor.run_layers()
        inputs = {name: sample.inputs[i] for i, name in enumerate(graph.inputs)}
        reference = evaluate(graph, inputs, states)
        before = evaluate(source, inputs, source_states)
        states = {name: reference[name] for name in states}
        source_states = {name: before[name] for name in source_states}
        for operator in graph.operators:
            for name in operator.outputs:
                old, new = source.tensors.get(name), graph.tensors[name]
                is_kept = old is not None and (old.shape, old.dtype) == (new.shape, new.dtype)
                expected = before[name] if is_kept else reference[name]
                one = compare(name, "reference", made[name], expected)
                one = replace(one, operator=operator.name, absorbed=operator.absorbed)
                key = (operator.name, name)
                worst[key] = _worse(worst.get(key, one), one)
    return list(worst.values())


def _worse(one: Comparison, two: Comparison) -> Comparison:
    """Returns what holds of both comparisons of one tensor."""
    return replace(
        one,
        exact=one.exact and two.exact,
        matches=one.matches and two.matches,
        max_difference=float(np.maximum(one.max_difference, two.max_difference)),
    )


def operator_figures(
    lowered: Lowered, counts: RunCounts | None, modelled: ModelledCycles
) -> tuple[OperatorFigures, ...]:
    """Returns MACs, instructions and modelled cycles per operator; a view costs nothing."""
    calls = list(counts.calls) if counts is not None else None
    if calls is not None and len(calls) != len(lowered.selections):
        calls = None
    cycles = list(modelled.calls) if calls is not None and modelled.calls else None
    figures: list[OperatorFigures] = []
    for bound in lowered.graph.bound_operators():
        selection = lowered.selections.get(bound.name)
        kernel = f"{selection.library}/{selection.name}" if selection else "view"
        instructions = own_cycles = None
        if calls is not None:
            instructions = calls.pop(0) if selection else 0
        if cycles is not None:
            own_cycles = cycles.pop(0) if selection else 0
        macs = OPERATORS[bound.kind].macs(bound)
        figures.append(
            OperatorFigures(bound.name, bound.kind, macs, kernel, instructions, own_cycles)
        )
    return tuple(figures)


def _figures(
    built: Built,
    lowered: Lowered,
    device: Device,
    counts: RunCounts | None,
    cycles: int | None,
    stacks: list[int],
    comparisons: list[Comparison],
    outputs: list[tuple[Array, ...]],
) -> Evaluation:
    plan, image = lowered.plan, built.image
    modelled = model_cycles(image, device.board.target.cpu, counts)
    stack = max(stacks) if stacks else None
    params_bytes = sum(
        len(one.params.blob)
        for one in built.compiled.placed_params()
        if one.name == lowered.identifier and one.placement == "ram"
    )
    return Evaluation(
        model=lowered.graph.name,
        board=device.board.name,
        runner=device.runner,
        toolchain=image.toolchain,
        clock_hz=device.board.clock_hz,
        instructions=counts.total if counts else None,
        cycles=cycles,
        model_flash_bytes=image.model_flash_bytes,
        image_flash_bytes=image.flash_bytes,
        arena_bytes=plan.arena_bytes,
        arena_lower_bound_bytes=plan.lower_bound_bytes,
        stack_bytes=stack,
        model_ram_bytes=None if stack is None else plan.arena_bytes + stack + params_bytes,
        image_ram_bytes=image.ram_bytes,
        operators=operator_figures(lowered, counts, modelled),
        modelled_cycles=modelled.total,
        stack_bound=model_stack_bound(image, lowered.identifier),
        why_unmodelled=modelled.why_not,
        params_ram_bytes=params_bytes,
        comparisons=tuple(comparisons),
        outputs=tuple(outputs),
    )
