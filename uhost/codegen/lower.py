"""Lowers a whole module: kernels and places, as fast or as small as was asked for.

`ram` looks for the smallest arena: among kernels, by halving the interval of limits, and by
chains that run row by row (`uhost/codegen/stream.py`), so that the largest tensors are never
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, log

from uhost.codegen.choose import RESERVE, Kernels, Limits
from uhost.codegen.lowered import Lowered, arena_bytes
from uhost.codegen.stream import chains, streamed
from uhost.config.compilation import CompilationConfig, Executor, Pool
from uhost.errors import OutOfMemoryError
from uhost.ir.graph import Graph
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
    pools = config.usable_workspace_pools()
    for pool in pools:
        made = kernels.lower(pool, replace(_limits(config, None), arena_bytes=None))
        if has_room(pool, arena_bytes(made, config.executor)):
            break
    else:
        pool = by_room(pools)[-1]
    limits = _limits(config, pool)
    if config.optimize == "ram":
        best = _least_ram(kernels, pool, limits, made, most_slowdown)
        if not any(forced.values()):
            best = _with_streams(best, kernels, pool, limits, _cycles(made))
        user, found = config.ram_limit_bytes, arena_bytes(best, config.executor)
        if user is None or found <= user:
            return best
        try:
            return kernels.lower(pool, limits)
        except OutOfMemoryError as error:
            raise _limit_error(graphs, user, found) from error
    if limits.arena_bytes is None or arena_bytes(made, config.executor) <= limits.arena_bytes:
        return made
    return kernels.lower(pool, limits)


def _limit_error(graphs: Sequence[Graph], limit_bytes: int, found_bytes: int) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"the RAM limit of {limit_bytes:,} B cannot be met: the smallest arena that was found, "
        f"with operators that run row by row, takes {found_bytes:,} B, "
        f"{found_bytes - limit_bytes:,} B are missing",
        where=", ".join(f"model '{graph.name}'" for graph in graphs),
        fix=f"give a limit of at least {found_bytes}, or a model with a smaller input",
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
    kernels: Kernels,
    pool: Pool,
    limits: Limits,
    fastest: list[Lowered],
    most_slowdown: float,
) -> list[Lowered]:
    """Returns the graphs with the fastest kernels of the smallest arena that is found.

    The limit of RAM is halved in on, between what no choice can go below and the arena of
    the fastest kernels. `fastest` are the graphs with those; kernels that take more than
    `most_slowdown` times their cycles are no choice.
    """
    most_cycles = most_slowdown * _cycles(fastest)
    executor = kernels.config.executor
    alignment = executor.alignment_bytes
    best = smallest = fastest
    high = arena_bytes(fastest, executor)
    low = min(kernels.floor(pool), high)
    # Halving on to the last byte finds little more.
    while high - low > high // _RESOLUTION:
        trial = low + (high - low) // 2 // alignment * alignment
        made = kernels.lower(pool, replace(limits, arena_bytes=trial))
        found = arena_bytes(made, executor)
        if found < high and _cycles(made) <= most_cycles:
            smallest, high = made, found
            best = min(best, made, key=lambda one: _price(one, executor))
        low = max(low, trial + alignment)
    user = kernels.config.ram_limit_bytes
    return smallest if user is not None and arena_bytes(best, executor) > user else best


def _with_streams(
    best: list[Lowered], kernels: Kernels, pool: Pool, limits: Limits, fastest_cycles: int
) -> list[Lowered]:
    """Returns `best`, or the same with chains that run row by row, if that is worth it.

    Of the chains that promise the smallest arena a few are lowered, the best is taken, and so on
    for what then is the peak. All take at most `MOST_STREAM_SLOWDOWN` times `fastest_cycles`,
    unless the user's limit is not met.
    """
    executor, user = kernels.config.executor, kernels.config.ram_limit_bytes
    for _ in range(_MOST_STREAMS):
        large = max(range(len(best)), key=lambda g: best[g].plan.arena_bytes)
        is_met = user is None or arena_bytes(best, executor) <= user
        most_cycles = MOST_STREAM_SLOWDOWN * fastest_cycles if is_met else inf
        trials: list[tuple[tuple[int, float], list[Lowered], Kernels]] = []
        for chain in chains(best[large].graph, best[large].plan)[:_CHAINS_TRIED]:
            graphs = [one.graph for one in best]
            graphs[large] = streamed(graphs[large], chain)
            kernels = Kernels(graphs, kernels.config, {}, kernels.lower_graph, kernels)
            fastest = kernels.lower(pool, replace(limits, arena_bytes=None))
            if _cycles(fastest) <= most_cycles:
                trials.append((_rank(fastest, executor, user), fastest, kernels))
        if not trials:
            break
        _, fastest, chosen = min(trials, key=lambda trial: trial[0])
        slowdown = most_cycles / max(_cycles(fastest), 1)
        made = _least_ram(chosen, pool, limits, fastest, slowdown)
        if _rank(made, executor, user) >= _rank(best, executor, user):
            break
        best, kernels = made, chosen
    return best


def _rank(
    models: Sequence[Lowered], executor: Executor, user_bytes: int | None
) -> tuple[int, float]:
    """Returns what is to be small: bytes above the user's limit, then the price.

    Where there is a limit, the price is that of the cycles alone.
    """
    if user_bytes is None:
        return 0, _price(models, executor)
    return max(arena_bytes(models, executor) - user_bytes, 0), _cycles(models)


def _price(models: Sequence[Lowered], executor: Executor) -> float:
    """Returns what is to be small where RAM is: bytes of the arena, and cycles in proportion.

    A percent of the arena is worth `_CYCLES_FOR_RAM` percent of the cycles.
    """
    return _CYCLES_FOR_RAM * log(max(arena_bytes(models, executor), 1)) + log(_cycles(models) + 1)


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
