"""Orders operators so that little is live at once where a graph has branches.

A step needs the tensors that are live before it and those it makes; a tensor dies with its
last reader. Partial orders are extended one operator at a time, all of one length together;
of those that have run the same operators, the one with the lowest peak is kept, which is
exact. Where more than `most` remain, only those of the lowest peaks are followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from uhost.config.pass_context import PassContext
from uhost.ir.graph import Graph
from uhost.ir.module import IRModule
from uhost.ops._op import OPERATORS

_EFFORT = 60_000
"""Steps that are tried in all; long graphs get fewer orders for it."""


@dataclass(frozen=True, slots=True)
class OrderOperators:
    """Takes another order of a graph's operators where its peak is lower."""

    opt_level: ClassVar[int] = 2
    after: ClassVar[tuple[str, ...]] = (
        "connect_pixels",
        "fold_constant_channels",
        "fold_padding",
        "merge_activations",
        "remove_copies",
        "remove_dead_operators",
    )

    most: int = 200

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module with its operators in the order of the lowest peak found."""
        return module.map_graphs(lambda graph: _order(graph, self.most))


@dataclass(frozen=True, slots=True)
class _Partial:
    """Operators that have run, in order: the most bytes live so far, and those live now."""

    peak: int
    live: int
    order: tuple[int, ...]


def _order(graph: Graph, most: int) -> Graph:
    schedule = _Schedule(graph)
    found = schedule.search(most, schedule.peak(range(len(graph.operators))))
    if found is None:
        return graph
    return replace(graph, operators=tuple(graph.operators[i] for i in found.order))


class _Schedule:
    """What running an operator brings to life, and lets die."""

    def __init__(self, graph: Graph) -> None:
        roots: dict[str, str] = {}
        for operator in graph.operators:
            if OPERATORS[operator.kind].is_view:
                source = operator.inputs[0]
                roots[operator.outputs[0]] = roots.get(source, source)

        def owners(names: Sequence[str]) -> set[str]:
            found = {roots.get(name, name) for name in names if name}
            return {n for n in found if not graph.tensors[n].is_constant and n not in graph.states}

        self._sizes = {name: tensor.size_bytes for name, tensor in graph.tensors.items()}
        self._makes = [owners(o.outputs) - owners(o.inputs) for o in graph.operators]
        self._reads = [owners(o.inputs) for o in graph.operators]
        self._inputs = owners(graph.inputs)
        self._needs = list(_predecessors(graph))
        self._readers: dict[str, int] = {}
        for index, names in enumerate(self._reads):
            for name in names:
                self._readers[name] = self._readers.get(name, 0) | 1 << index
        for name in owners(graph.outputs):
            # A reader that never runs: outputs do not die.
            self._readers[name] = self._readers.get(name, 0) | 1 << len(graph.operators)

    def peak(self, order: Sequence[int]) -> int:
        """Returns the most bytes live at a step of an order."""
        partial, done = self._start(), 0
        for index in order:
            partial, done = self._after(partial, done, index), done | 1 << index
        return partial.peak

    def search(self, most: int, below: int) -> _Partial | None:
        """Returns the order of the lowest peak among those followed; None for none `below`."""
        if self._floor() >= below:
            return None
        most = max(min(most, _EFFORT // max(len(self._needs), 1) ** 2), 1)
        level = {0: self._start()}
        for _ in self._needs:
            following: dict[int, _Partial] = {}
            for done, partial in level.items():
                for index, needs in enumerate(self._needs):
                    if done >> index & 1 or needs & ~done:
                        continue
                    candidate = self._after(partial, done, index)
                    if candidate.peak >= below:
                        continue
                    known = following.get(done | 1 << index)
                    if known is None or _rank(candidate) < _rank(known):
                        following[done | 1 << index] = candidate
            if len(following) > most:
                kept = sorted(following.items(), key=lambda item: _rank(item[1]))[:most]
                following = dict(kept)
            level = following
        return next(iter(level.values()), None)

    def _floor(self) -> int:
        """Returns what no order goes below: what one operator reads and makes."""
        return max(
            (
                sum(self._sizes[name] for name in reads | makes)
                for reads, makes in zip(self._reads, self._makes, strict=True)
            ),
            default=0,
        )

    def _start(self) -> _Partial:
        live = sum(self._sizes[name] for name in self._inputs)
        return _Partial(live, live, ())

    def _after(self, partial: _Partial, done: int, index: int) -> _Partial:
        done |= 1 << index
        during = partial.live + sum(self._sizes[name] for name in self._makes[index])
        dead = sum(
            self._sizes[name]
            for name in self._reads[index] | self._makes[index]
            if not self._readers.get(name, 0) & ~done
        )
        return _Partial(max(partial.peak, during), during - dead, (*partial.order, index))


def _rank(partial: _Partial) -> tuple[int, int, tuple[int, ...]]:
    return partial.peak, partial.live, partial.order


def _predecessors(graph: Graph) -> Iterator[int]:
    """Yields for each operator a bit for every one that must run before it.

    Those that touch one state keep their order.
    """
    makers: dict[str, int] = {}
    for index, operator in enumerate(graph.operators):
        touched = {*operator.inputs, *operator.outputs}
        needs = 0
        for name in touched & makers.keys():
            needs |= 1 << makers[name]
        for name in touched & graph.states.keys() | set(operator.outputs):
            makers[name] = index
        yield needs


PASS = OrderOperators
