"""Chooses the kernels of a whole module by their costs, within limits of flash and RAM.

Flash is the code of the kernels, each function once, and their constants, equal ones once
(`uhost/kernels/_choice.py`). RAM is the arena: a kernel whose scratch does not fit beside
the tensors of its step is out, and where the plan of the arena still is too large, the
largest scratch at its peak is exchanged, until it fits or nothing is left to exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from uhost.codegen._reasons import Reasons
from uhost.codegen._routines import routine_of
from uhost.codegen.lowered import Lowered, arena_bytes
from uhost.codegen.stated import fixed_bytes, option_of
from uhost.config.compilation import CompilationConfig, Pool
from uhost.errors import OutOfMemoryError
from uhost.ir.graph import Graph
from uhost.kernels._choice import Aim, Choice, Option, choose
from uhost.kernels._kernel import KernelCall, Routine
from uhost.kernels._partition import Offer, offers
from uhost.planner import plan_memory, view_operators
from uhost.planner.lifetimes import SCRATCH_SUFFIX
from uhost.planner.overlaps import Stated, overlaps_of
from uhost.planner.plan import Block, MemoryPlan, shared_bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of flash and of the arena that are not to be exceeded; None: no limit."""

    flash_bytes: int | None = None
    arena_bytes: int | None = None


RESERVE = 100
"""One part in so many of the flash limit is kept free for what costs are off."""

LowerGraph = Callable[[Graph, bool], Lowered]
"""Lowers a graph that an operator runs; the second is true if its inputs are read again."""


def _stated(call: KernelCall) -> list[Stated]:
    return [(o.input, o.least, o.most, o.scratch) for o in call.overlaps]


class Kernels:
    """Every kernel that each operator of some graphs can have, and the choice among them."""

    def __init__(
        self,
        graphs: Sequence[Graph],
        config: CompilationConfig,
        forced: Mapping[str, Mapping[str, str]],
        lower_graph: LowerGraph,
        known: Kernels | None = None,
    ) -> None:
        """`lower_graph` lowers what an operator runs, and says whether its inputs stay.

        `known` are those of graphs with many operators in common, which are looked up.
        """
        self.config = config
        self.forced = forced
        self.lower_graph = lower_graph
        self._routines: dict[tuple[object, ...], Routine] = known._routines if known else {}
        self._graphs = graphs
        self._views = [view_operators(graph) for graph in graphs]
        self._offers: list[dict[str, Offer]] = [
            offers(
                graph,
                config.targets,
                views,
                forced.get(graph.name, {}),
                self._routine,
                known.offered(graph) if known else {},
                ordered=config.optimize == "cycles",
            )
            for graph, views in zip(graphs, self._views, strict=True)
        ]
        in_ram = not config.executor.link_params and config.executor.params_placement == "ram"
        self._options = [
            {
                name: [option_of(graph.bind(by_name[name]), one, not in_ram) for one in o.variants]
                for name, o in found.items()
            }
            for graph, found in zip(graphs, self._offers, strict=True)
            for by_name in [{operator.name: operator for operator in graph.operators}]
        ]
        calls = sum(len(found) for found in self._offers)
        self._fixed_bytes = fixed_bytes(len(graphs), calls)
        self._demands: dict[tuple[int, str], list[int]] = {}

    def offered(self, graph: Graph) -> dict[str, Offer]:
        """Returns the offers of those operators that a graph of the same name had as well."""
        same = {id(operator) for operator in graph.operators}
        return {
            operator.name: found[operator.name]
            for own, found in zip(self._graphs, self._offers, strict=True)
            if own.name == graph.name
            for operator in own.operators
            if id(operator) in same and operator.name in found
        }

    def _routine(self, graph: Graph, role: str, keep_inputs: bool) -> Routine:
        """Returns a graph that an operator runs, lowered: in what memory the caller gives it."""
        # Constants are what they are: those of two models may have the same names.
        constants = tuple(id(t.values) for t in graph.tensors.values() if t.is_constant)
        key = str(graph), role, keep_inputs, constants
        if key not in self._routines:
            self._routines[key] = routine_of(self.lower_graph(graph, keep_inputs), role)
        return self._routines[key]

    def lower(self, pool: Pool, limits: Limits) -> list[Lowered]:
        """Returns the graphs with the best kernels that the limits allow; arenas are in `pool`.

        Where nothing meets the limit of the arena, what comes nearest. Raises
        `OutOfMemoryError` where the user's limit of flash is not met.
        """
        rooms = self._rooms(pool, limits)
        if rooms and not self._demands:
            self._demands = self._measure(pool)
        while True:
            choice, aim = self._choose(rooms, limits)
            plans = self._plans(choice, pool, limits.arena_bytes)
            if limits.arena_bytes is None:
                break
            made = self._lowered(choice, plans)
            if arena_bytes(made, self.config.executor) <= limits.arena_bytes:
                break
            if not self._tighten(rooms, choice, plans, limits.arena_bytes):
                # Its goal missed, the plan was not searched: but what is missing is told by it.
                plans = self._plans(choice, pool, None)
                break
        return self._lowered(choice, plans, Reasons(self._flat(), choice, aim, self._lacks(rooms)))

    def floor(self, pool: Pool) -> int:
        """Returns bytes of the arena that no choice of kernels can go below."""
        self._demands = self._demands or self._measure(pool)
        rooms = self._rooms(pool, Limits(None, 0))
        return max((min(self._demands[key]) - room for key, room in rooms.items()), default=0)

    # Operators in one row: (graph, operator name).

    def _keys(self) -> list[tuple[int, str]]:
        return [(g, name) for g, found in enumerate(self._offers) for name in found]

    def _flat(self) -> list[tuple[Offer, list[Option]]]:
        return [(self._offers[g][name], self._options[g][name]) for g, name in self._keys()]

    def _lacks(self, rooms: Mapping[tuple[int, str], int]) -> list[list[int]]:
        """Returns the bytes of RAM that each variant lacks; 0 where there is room for it."""
        return [
            [max(one - rooms[key], 0) for one in self._demands[key]] if key in rooms else []
            for key in self._keys()
        ]

    def _choose(self, rooms: Mapping[tuple[int, str], int], limits: Limits) -> tuple[Choice, Aim]:
        """Returns the best choice among the variants that have room."""
        allowed: list[list[int]] = []
        for key in self._keys():
            if key not in rooms:
                allowed.append(list(range(len(self._offers[key[0]][key[1]].variants))))
                continue
            most = max(rooms[key], min(self._demands[key]))
            allowed.append([i for i, one in enumerate(self._demands[key]) if one <= most])
        operators = [
            [self._options[g][name][i] for i in places]
            for (g, name), places in zip(self._keys(), allowed, strict=True)
        ]
        aim = Aim(self.config.optimize, limits.flash_bytes, self._fixed_bytes)
        found = choose(operators, aim)
        if found is None:
            smallest = choose(operators, replace(aim, optimize="size", flash_limit_bytes=None))
            assert smallest is not None
            user, needed = self.config.flash_limit_bytes, smallest.flash_bytes + aim.fixed_bytes
            needed += needed // (RESERVE - 1) + 1
            if user is not None and needed > user:
                raise self._flash_error(user, needed)
            found = smallest
        picks = tuple(places[i] for places, i in zip(allowed, found.picks, strict=True))
        return replace(found, picks=picks), aim

    def _calls(self, choice: Choice) -> list[dict[str, KernelCall]]:
        calls: list[dict[str, KernelCall]] = [{} for _ in self._graphs]
        for (g, name), pick in zip(self._keys(), choice.picks, strict=True):
            calls[g][name] = self._offers[g][name].variants[pick].call
        return calls

    def _plans(self, choice: Choice, pool: Pool, goal_bytes: int | None) -> list[MemoryPlan]:
        return [self._plan(g, one, pool, goal_bytes) for g, one in enumerate(self._calls(choice))]

    def _plan(
        self,
        g: int,
        calls: Mapping[str, KernelCall],
        pool: Pool,
        goal_bytes: int | None = None,
    ) -> MemoryPlan:
        scratch = {name: call.scratch_bytes for name, call in calls.items()}
        overlaps = {name: _stated(call) for name, call in calls.items()}
        executor = self.config.executor
        return plan_memory(
            self._graphs[g],
            self._views[g],
            scratch,
            pool,
            executor.alignment_bytes,
            overlaps,
            executor.keep_input,
            goal_bytes,
        )

    def _lowered(
        self, choice: Choice, plans: Sequence[MemoryPlan], reasons: Reasons | None = None
    ) -> list[Lowered]:
        picks = iter(enumerate(choice.picks))
        made = []
        for graph, found, plan in zip(self._graphs, self._offers, plans, strict=True):
            selections = {}
            for name, offer in found.items():
                row, pick = next(picks)
                selections[name] = offer.select(pick, reasons.of(row) if reasons else {})
            made.append(Lowered(graph, selections, plan))
        return made

    # RAM

    def _rooms(self, pool: Pool, limits: Limits) -> dict[tuple[int, str], int]:
        """Returns what the limit, if there is one, leaves beside the tensors of each step.

        It may be negative: output and inputs can share bytes.
        """
        if limits.arena_bytes is None:
            return {}
        rooms = {}
        for g, graph in enumerate(self._graphs):
            plan = self._plan(g, {}, pool)
            for step, operator in enumerate(graph.operators):
                live = sum(
                    -(-b.size_bytes // plan.alignment_bytes) * plan.alignment_bytes
                    for b in plan.live_at(step)
                )
                if operator.name in self._offers[g]:
                    rooms[g, operator.name] = limits.arena_bytes - live
        return rooms

    def _measure(self, pool: Pool) -> dict[tuple[int, str], list[int]]:
        """Returns the bytes that each variant takes beside the tensors of its step.

        Scratch, less what it lets output and inputs share.
        """
        plans = [self._plan(g, {}, pool) for g in range(len(self._graphs))]
        return {
            (g, name): [
                one.call.scratch_bytes - self._shared(g, name, one.call, plans[g])
                for one in self._offers[g][name].variants
            ]
            for g, name in self._keys()
        }

    def _shared(self, g: int, name: str, call: KernelCall, plan: MemoryPlan) -> int:
        graph, keep_input = self._graphs[g], self.config.executor.keep_input
        step = next(i for i, o in enumerate(graph.operators) if o.name == name)
        scratch = Block(name + SCRATCH_SUFFIX, call.scratch_bytes, step, step)
        blocks = (*plan.blocks, scratch)
        overlaps = overlaps_of(graph, plan.views, blocks, {name: _stated(call)}, keep_input)
        return sum(shared_bytes(blocks, overlaps).values())

    def _tighten(
        self,
        rooms: dict[tuple[int, str], int],
        choice: Choice,
        plans: Sequence[MemoryPlan],
        limit_bytes: int,
    ) -> bool:
        """Takes room from the variant that needs most of it at a peak; False where none can shrink.

        It is at a peak if a block that lives at its step ends over the limit.
        """
        peaks: list[tuple[bool, int, tuple[int, str]]] = []
        for key, pick in zip(self._keys(), choice.picks, strict=True):
            g, name = key
            size = self._demands[key][pick]
            if size <= min(self._demands[key]):
                continue
            plan = plans[g]
            step = next(i for i, o in enumerate(self._graphs[g].operators) if o.name == name)
            over = any(
                plan.offsets[b.name] + b.size_bytes > limit_bytes for b in plan.live_at(step)
            )
            peaks.append((over, size, key))
        if not peaks:
            return False
        _, size, key = max(peaks)
        rooms[key] = size - 1
        return True

    # Errors

    def _models(self) -> str:
        return ", ".join(f"model '{graph.name}'" for graph in self._graphs)

    def _flash_error(self, limit: int, smallest_bytes: int) -> OutOfMemoryError:
        return OutOfMemoryError(
            f"the flash limit of {limit:,} B cannot be met: the smallest choice of kernels takes "
            f"about {smallest_bytes:,} B of code and constants, "
            f"{smallest_bytes - limit:,} B are missing",
            where=self._models(),
            fix=f"give a limit of at least {smallest_bytes}, or a smaller model",
        )
