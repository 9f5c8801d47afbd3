"""Instruments: what passes cost, what they leave, and whether they preserve the result.

Each keeps what it saw of one compilation. Of several instruments in a context the last is
the nearest to the pass: put `TimePasses` there, so that it does not time the others.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from uhost.errors import ConfigError, VerifyError
from uhost.ir.graph import Graph
from uhost.ir.module import IRModule
from uhost.ir.tensor import Array
from uhost.ops._inputs import random_inputs
from uhost.ops._op import evaluate


@dataclass(slots=True, eq=False)
class TimePasses:
    """Measures the seconds of every pass, verification of its result included."""

    seconds: dict[str, float] = field(default_factory=dict, init=False)
    _started: float = field(default=0.0, init=False, repr=False)

    def begin(self, module: IRModule) -> None:
        """Forgets an earlier compilation."""
        self.seconds.clear()

    def before_pass(self, name: str, module: IRModule) -> None:
        """Starts the clock."""
        self._started = time.perf_counter()

    def after_pass(self, name: str, module: IRModule) -> None:
        """Stops the clock."""
        self.seconds[name] = time.perf_counter() - self._started

    def report(self) -> str:
        """Returns a line per pass, in running order, and the sum."""
        rows = [*self.seconds.items(), ("all passes", sum(self.seconds.values()))]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {taken * 1000:9.3f} ms" for name, taken in rows)


@dataclass(slots=True, eq=False)
class DumpPasses:
    """Writes the module as text: `00-loaded.txt`, then `NN-PASS.txt` after each pass."""

    folder: Path
    _count: int = field(default=0, init=False, repr=False)

    def begin(self, module: IRModule) -> None:
        """Writes the module as loaded; raises `ConfigError` where the folder cannot be written."""
        self._count = 0
        self._write("loaded", module)

    def before_pass(self, name: str, module: IRModule) -> None:
        """Does nothing: the module before a pass is the one after the last."""

    def after_pass(self, name: str, module: IRModule) -> None:
        """Writes the module the pass left."""
        self._count += 1
        self._write(name, module)

    def _write(self, name: str, module: IRModule) -> None:
        path = self.folder / f"{self._count:02}-{name}.txt"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(str(module), encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"cannot write '{path}': {error.strerror}",
                fix="choose another folder for the text of the passes",
            ) from error


@dataclass(slots=True, eq=False)
class CheckPasses:
    """Refuses a pass that changes the reference result of a model, or its inputs and outputs.

    The exact references compute every graph before and after the pass on `samples` seeded
    random inputs; the outputs must be equal bit for bit.
    """

    samples: int = 2
    _before: IRModule | None = field(default=None, init=False, repr=False)
    _results: dict[str, list[list[Array]]] = field(default_factory=dict, init=False, repr=False)

    def begin(self, module: IRModule) -> None:
        """Computes the results that every pass must preserve."""
        self._before = module
        self._results = {name: self._evaluate(graph) for name, graph in module.graphs.items()}

    def before_pass(self, name: str, module: IRModule) -> None:
        """Does nothing: the results are those known of the module as loaded."""

    def after_pass(self, name: str, module: IRModule) -> None:
        """Raises `VerifyError` with pass, output and difference unless results are the same."""
        assert self._before is not None
        if list(module.graphs) != list(self._before.graphs):
            raise VerifyError(
                f"after pass '{name}': the models are {', '.join(module.graphs)}, "
                f"not {', '.join(self._before.graphs)}"
            )
        for model, graph in module.graphs.items():
            _check_ports(name, self._before.graphs[model], graph)
            try:
                results = self._evaluate(graph)
            except VerifyError as error:
                raise VerifyError(
                    f"after pass '{name}': the reference does not compute '{model}': {error.what}"
                ) from error
            for sample, (old, new) in enumerate(zip(self._results[model], results, strict=True)):
                for output, one, two in zip(graph.outputs, old, new, strict=True):
                    if difference := _difference(one, two):
                        raise VerifyError(
                            f"after pass '{name}': output '{output}' of '{model}' {difference}",
                            where=f"random sample {sample}",
                            fix=f"disable the pass '{name}', and report it",
                        )

    def _evaluate(self, graph: Graph) -> list[list[Array]]:
        results: list[list[Array]] = []
        states = graph.states
        for seed in range(self.samples):
            inputs = dict(zip(graph.inputs, random_inputs(graph, seed), strict=True))
            values = evaluate(graph, inputs, states)
            states = {name: values[name] for name in states}
            results.append([values[name] for name in graph.outputs])
        return results


def _check_ports(name: str, before: Graph, after: Graph) -> None:
    """Raises `VerifyError` unless inputs and outputs have kept names, shapes and types."""
    for what in ("inputs", "outputs"):
        old, new = (
            [f"{port}: {graph.tensors[port]}" for port in getattr(graph, what)]
            for graph in (before, after)
        )
        if old != new:
            raise VerifyError(
                f"after pass '{name}': the {what} of '{after.name}' are {', '.join(new)}, "
                f"not {', '.join(old)}"
            )


def _difference(before: Array, after: Array) -> str:
    """Returns how two arrays of one shape and type differ, "" where they are equal bit for bit."""
    bits = f"u{before.itemsize}"
    one, two = np.ascontiguousarray(before), np.ascontiguousarray(after)
    count = int(np.count_nonzero(one.view(bits) != two.view(bits)))
    if not count:
        return ""
    with np.errstate(invalid="ignore"):
        largest = np.abs(two.astype(np.float64) - one.astype(np.float64)).max()
    return f"differs in {count} of {before.size} elements, by up to {largest:g}"
