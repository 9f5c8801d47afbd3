"""Repeats a model on a device: how long its parts take, and where its tensors lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from uhost.codegen.lowered import Lowered
from uhost.planner.lifetimes import SCRATCH_SUFFIX
from uhost.runtime.compiled import Built
from uhost.runtime.device import IN_PROCESS, Device
from uhost.runtime.evaluation import Evaluation, Progress, measure
from uhost.runtime.graph_module import GraphModule
from uhost.runtime.samples import Sample


@dataclass(frozen=True, slots=True)
class Spread:
    """The smallest, the middle and the 95th percentile of some measurements."""

    smallest: float
    median: float
    p95: float


def spread(values: Sequence[float]) -> Spread:
    """Returns the spread of at least one value; percentiles are values that occurred.

    A percentile is the smallest value that so many percent of the values do not exceed
    (nearest rank), so the median of two values is the smaller one.
    """
    ordered = sorted(values)

    def rank(percent: int) -> float:
        return ordered[max(0, math.ceil(percent * len(ordered) / 100) - 1)]

    return Spread(ordered[0], rank(50), rank(95))


@dataclass(frozen=True, slots=True)
class Timing:
    """What `repeats` inferences took.

    Seconds are by this machine's clock, with everything between it and the model: the
    line, and the simulator where there is one. `cycles` are those of the device's own
    counter, for the model alone; None where it stands still. `operator_cycles` are one
    per operator, of one inference, and `operator_seconds` likewise.
    """

    repeats: int
    upload_bytes: int
    download_bytes: int
    upload_s: Spread
    run_s: Spread
    download_s: Spread
    cycles: Spread | None
    operator_cycles: tuple[int | None, ...]
    operator_seconds: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """Bytes of the arena from step `first` to step `last`, both included.

    `role` is `input`, `output`, `intermediate` or `scratch`.
    """

    name: str
    role: str
    offset: int
    size_bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One model on one device: what `measure` finds, the times, and the memory's schedule."""

    evaluation: Evaluation
    timing: Timing
    memory: tuple[PlacedBlock, ...]


def benchmark(
    built: Built,
    device: Device,
    samples: Sequence[Sample],
    index: int = 0,
    *,
    repeats: int = 5,
    progress: Progress = lambda text: None,
) -> Benchmark:
    """Returns the figures of model `index` and the times of `repeats` runs of its first sample.

    The runs that are timed come after all samples and one run more, which finds caches cold.
    """
    timings: list[Timing] = []

    def repeat(executor: GraphModule) -> None:
        progress(f"timing {repeats} run{'s' if repeats != 1 else ''}")
        for position, value in samples[0].inputs.items():
            executor.set_input(position, value)
        timings.append(time_runs(executor, repeats))

    evaluation = measure(built, device, samples, index, progress=progress, then=repeat)
    blocks = placed_blocks(built.compiled.models[index].lowered)
    return Benchmark(evaluation, timings[0], blocks)


def time_runs(executor: GraphModule, repeats: int) -> Timing:
    """Returns what `repeats` inferences of an executor with inputs take, one more before them."""
    executor.run()
    uploads, runs, downloads, cycles = [], [], [], []
    for _ in range(repeats):
        report, upload_s, run_s = executor.time_run()
        uploads.append(upload_s)
        runs.append(run_s)
        started_s = perf_counter()
        for position in range(len(executor.outputs)):
            executor.get_output(position)
        downloads.append(perf_counter() - started_s)
        if report.cycles is not None:
            cycles.append(report.cycles)
    # Simulators have nothing to tell of single operators but instructions, which are known.
    known = bool(cycles) or executor.device.runner == IN_PROCESS
    rows = tuple(executor.profile()) if known else ()
    return Timing(
        repeats,
        sum(tensor.size_bytes for tensor in executor.inputs),
        sum(tensor.size_bytes for tensor in executor.outputs),
        spread(uploads),
        spread(runs),
        spread(downloads),
        spread(cycles) if cycles else None,
        tuple(row.cycles for row in rows),
        tuple(row.seconds for row in rows),
    )


def placed_blocks(lowered: Lowered) -> tuple[PlacedBlock, ...]:
    """Returns who lives where in the arena, and when, lowest first."""
    plan, graph = lowered.plan, lowered.graph
    roles = {plan.views.get(name, name): "output" for name in graph.outputs}
    roles |= {plan.views.get(name, name): "input" for name in graph.inputs}
    blocks = [
        PlacedBlock(
            block.name,
            "scratch"
            if block.name.endswith(SCRATCH_SUFFIX)
            else roles.get(block.name, "intermediate"),
            plan.offsets[block.name],
            block.size_bytes,
            block.first,
            block.last,
        )
        for block in plan.blocks
        if block.size_bytes
    ]
    return tuple(sorted(blocks, key=lambda b: (b.offset, b.first, b.name)))
