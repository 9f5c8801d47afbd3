"""Lowers a whole module: kernels and places, as fast or as small as was asked for.

`ram` looks for the smallest arena: among kernels, by halving the interval of limits, and by
chains that run row by row (`uhost/codegen/stream.py`), so that the largest tensors are never
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from uhost.codegen.choose import RESERVE, Kernels, Limits
from uhost.codegen.lowered import Lowered, arena_bytes
from uhost.codegen.stream import chains, streamed
from uhost.config.compilation import CompilationConfig, Executor, Pool
from uhost.errors import OutOfMemoryError
from uhost.ir.graph import Graph
from uhost.ir.printer import short_name
from uhost.planner.pools import by_room, has_room

MOST_SLOWDOWN = 1.2
"""How many times the cycles of the fastest kernels the smallest arena may take."""

MOST_STRIP_SLOWDOWN = 2.0
"""How many times the fastest one's cycles a kernel may take that makes rows of a stream."""

MOST_STREAM_SLOWDOWN = 1.24
"""How many times the cycles of the fastest kernels a model may take that runs row by row.

More only where a limit of RAM is not met otherwise. The instructions stay below 1.3 times theirs.
"""

_MOST_STREAMS = 3
"""Chains of a module, at most."""

_CHAINS_TRIED = 8
"""Chains that are lowered for each of them."""

_CYCLES_FOR_RAM = 8
"""Percent of the cycles that a percent of the arena is worth."""

_RESOLUTION = 512
"""One part in so many of the arena is not looked for any more."""

FIRMWARE_FLASH_BYTES = 7 * 1024
"""What the firmware around the models takes of flash, rounded up."""

FIRMWARE_RAM_BYTES = 7 * 1024
"""What it takes of RAM besides the stack."""


def lower_module(
    graphs: Sequence[Graph],
    config: CompilationConfig,
    forced: Mapping[str, Mapping[str, str]],
    most_slowdown: float = MOST_SLOWDOWN,
) -> list[Lowered]:
    """Returns the graphs with a kernel per operator and a place for every tensor.

    `forced` is graph → (operator → library). The arenas go into the fastest pool that has
    room for them; only the largest pool makes kernels with a large scratch give way. The
    user's limits are met or `OutOfMemoryError` is raised; the board's as nearly as
    possible, since the linker has the last word.
    """
    if not graphs:
        return []
    kernels = Kernels(graphs, config, forced, _lower_called(config))
    lower = _lower_small if config.optimize == "ram" else _lower_best
    pools = config.usable_workspace_pools()
    for pool in pools:
        made = lower(kernels, pool, _limits(config, None), most_slowdown)
        if has_room(pool, arena_bytes(made, config.executor)):
            break
    else:
        pool = by_room(pools)[-1]
    limit_bytes = _limits(config, pool).arena_bytes
    if limit_bytes is not None and arena_bytes(made, config.executor) > limit_bytes:
        made = lower(kernels, pool, _limits(config, pool), most_slowdown)
    user = config.ram_limit_bytes
    if user is not None and arena_bytes(made, config.executor) > user:
        raise _ram_error(made, config.executor, user)
    return made


def _lower_best(kernels: Kernels, pool: Pool, limits: Limits, _: float) -> list[Lowered]:
    """Returns the graphs with the best kernels within the limits, or what comes nearest."""
    return kernels.lower(pool, limits)


def _lower_small(
    kernels: Kernels, pool: Pool, limits: Limits, most_slowdown: float
) -> list[Lowered]:
    """Returns the graphs in the smallest arena that is worth its cycles."""
    fastest = kernels.lower(pool, replace(limits, arena_bytes=None))
    rank = _Rank(kernels.config.executor, limits.arena_bytes, most_slowdown * _cycles(fastest))
    best = _least_ram(kernels, pool, limits, fastest, rank)
    rank = replace(rank, most_cycles=MOST_STREAM_SLOWDOWN * _cycles(fastest))
    return _with_streams(best, kernels, pool, limits, rank)


def _ram_error(models: Sequence[Lowered], executor: Executor, limit_bytes: int) -> OutOfMemoryError:
    """Returns the error that the smallest arena that was found exceeds the user's limit."""
    found = arena_bytes(models, executor)
    largest = max(models, key=lambda one: one.plan.arena_bytes)
    step = largest.plan.peak_step()
    listed = "\n".join(
        f"  {b.size_bytes:>10,} B  {short_name(b.name)}" for b in largest.plan.live_at(step)
    )
    return OutOfMemoryError(
        f"the RAM limit of {limit_bytes:,} B cannot be met: the smallest arena that was found "
        f"takes {found:,} B, {found - limit_bytes:,} B are missing. "
        f"Live at the peak, step {step} ({largest.graph.operators[step].name}):\n{listed}",
        where=", ".join(f"model '{one.graph.name}'" for one in models),
        fix=f"give a limit of at least {found}, or a model with a smaller input",
    )


def _lower_called(config: CompilationConfig) -> Callable[[Graph, bool], Lowered]:
    """Returns what lowers a graph that an operator runs: in what memory the caller gives it."""

    def lower(graph: Graph, keep_inputs: bool) -> Lowered:
        own = replace(
            config,
            flash_limit_bytes=None,
            ram_limit_bytes=None,
            kernels=(),
            executor=replace(config.executor, keep_input=keep_inputs),
        )
        # A strip needs its memory while the rings of its neighbours need theirs.
        slowdown = MOST_STRIP_SLOWDOWN if keep_inputs else MOST_SLOWDOWN
        [lowered] = lower_module([graph], own, {}, slowdown)
        return lowered

    return lower


def _least_ram(
    kernels: Kernels, pool: Pool, limits: Limits, fastest: list[Lowered], rank: _Rank
) -> list[Lowered]:
    """Returns the graphs with the kernels of the best rank that is found.

    The limit of RAM is halved in on, between what no choice can go below and the arena of
    `fastest`, the graphs with the fastest kernels.
    """
    executor = kernels.config.executor
    alignment = executor.alignment_bytes
    best, high = fastest, arena_bytes(fastest, executor)
    low = min(kernels.floor(pool), high)
    # Halving on to the last byte finds little more.
    while high - low > high // _RESOLUTION:
        trial = low + (high - low) // 2 // alignment * alignment
        made = kernels.lower(pool, replace(limits, arena_bytes=trial))
        found = arena_bytes(made, executor)
        if found < high and (rank.missing_bytes(best) or not rank.excess_cycles(made)):
            high = found
            best = min(best, made, key=rank)
        low = max(low, trial + alignment)
    return best


def _with_streams(
    best: list[Lowered], kernels: Kernels, pool: Pool, limits: Limits, rank: _Rank
) -> list[Lowered]:
    """Returns `best`, or the same with chains that run row by row, if that has a better rank.

    Of the chains that promise the smallest arena a few are lowered, the best is taken, and so on
    for what then is the peak.
    """
    for _ in range(_MOST_STREAMS):
        large = max(range(len(best)), key=lambda g: best[g].plan.arena_bytes)
        graph = best[large].graph
        trials: list[tuple[list[Lowered], Kernels]] = []
        forced = kernels.forced.get(graph.name, {})
        for chain in chains(graph, best[large].plan, forced)[:_CHAINS_TRIED]:
            graphs = [one.graph for one in best]
            graphs[large] = streamed(graph, chain)
            kernels = Kernels(graphs, kernels.config, kernels.forced, kernels.lower_graph, kernels)
            fastest = kernels.lower(pool, replace(limits, arena_bytes=None))
            is_allowed = rank.missing_bytes(best) or not rank.excess_cycles(fastest)
            if is_allowed and _rows_state_costs(fastest[large]):
                trials.append((fastest, kernels))
        if not trials:
            break
        fastest, chosen = min(trials, key=lambda trial: rank(trial[0]))
        made = _least_ram(chosen, pool, limits, fastest, rank)
        if rank(made) >= rank(best):
            break
        best, kernels = made, chosen
    return best


def _rows_state_costs(model: Lowered) -> bool:
    """True unless rows of a chain are made by a kernel that states no cost: it would seem free."""
    return all(
        nested.cost is not None
        for operator in model.graph.operators
        if operator.kind == "row_stream"
        for routine in model.selections[operator.name].call.routines
        for nested in routine.calls
    )


@dataclass(frozen=True, slots=True)
class _Rank:
    """What is to be small: bytes above the limit, then cycles above `most_cycles`, then the price.

    So the limit is met whatever it costs, but by the fewest cycles more than are worth it.
    """

    executor: Executor
    limit_bytes: int | None
    most_cycles: float

    def missing_bytes(self, models: Sequence[Lowered]) -> int:
        """Returns by how much the arenas exceed the limit."""
        limit = self.limit_bytes
        return 0 if limit is None else max(arena_bytes(models, self.executor) - limit, 0)

    def excess_cycles(self, models: Sequence[Lowered]) -> float:
        """Returns the cycles above the most that are worth it."""
        return max(_cycles(models) - self.most_cycles, 0.0)

    def __call__(self, models: Sequence[Lowered]) -> tuple[int, float, float]:
        """Returns the rank. A percent of the arena is worth `_CYCLES_FOR_RAM` of the cycles."""
        arena = log(max(arena_bytes(models, self.executor), 1))
        price = _CYCLES_FOR_RAM * arena + log(_cycles(models) + 1)
        return self.missing_bytes(models), self.excess_cycles(models), price


def _cycles(models: Sequence[Lowered]) -> int:
    return sum(s.variant.cycles or 0 for one in models for s in one.selections.values())


def _limits(config: CompilationConfig, pool: Pool | None) -> Limits:
    """Returns what the user and the board allow; of its RAM, if the arena lies in `pool`."""
    reserved = config.runtime.system_lib
    flash = [_kept(config.flash_limit_bytes)]
    sizes = [p.size_bytes for p in config.usable_constant_pools() if p.size_bytes is not None]
    if sizes:
        flash.append(max(max(sizes) - FIRMWARE_FLASH_BYTES * reserved, 1))
    arena = [config.ram_limit_bytes]
    if pool is not None and pool.size_bytes is not None:
        # Of several pools none need be the one that the firmware is in.
        reserved = reserved and len(config.workspace_pools) == 1
        arena.append(max(pool.size_bytes - FIRMWARE_RAM_BYTES * reserved, 1))
    return Limits(_least(flash), _least(arena))


def _kept(limit_bytes: int | None) -> int | None:
    """Returns what may be chosen of a limit: stated code is a little off, by less than this."""
    return None if limit_bytes is None else limit_bytes - limit_bytes // RESERVE


def _least(limits: Sequence[int | None]) -> int | None:
    return min((one for one in limits if one is not None), default=None)
