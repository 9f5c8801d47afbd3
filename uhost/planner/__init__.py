"""Memory planning: lifetimes, packing, the plan, and whether it fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from uhost.config.compilation import Pool
from uhost.ir.graph import Graph
from uhost.planner.lifetimes import blocks_of, view_operators, view_roots
from uhost.planner.overlaps import Stated, overlaps_of
from uhost.planner.pack import lower_bound, pack
from uhost.planner.plan import Block, MemoryPlan, Overlap

__all__ = ["Block", "MemoryPlan", "Overlap", "plan_memory", "view_operators"]


def plan_memory(
    graph: Graph,
    views: frozenset[str],
    scratch_bytes: Mapping[str, int],
    pool: Pool,
    alignment_bytes: int,
    overlaps: Mapping[str, Sequence[Stated]] | None = None,
    keep_inputs: bool = False,
    goal_bytes: int | None = None,
) -> MemoryPlan:
    """Returns the verified plan of `graph`'s tensors and its kernels' scratch.

    `overlaps` is operator name → by how much its kernel lets inputs run into the output.
    With `keep_inputs` the graph's inputs are whole after a run. A plan larger than `goal_bytes`
    is of no use, and need not be small.
    States lie first, one after another, because they are live throughout.
    Everything is aligned to the larger of `alignment_bytes` and the pool's own alignment.
    """
    alignment_bytes = max(alignment_bytes, pool.alignment_bytes)
    roots = view_roots(graph, views)
    blocks = blocks_of(graph, roots, scratch_bytes, keep_inputs)
    sharing = overlaps_of(graph, roots, blocks, overlaps or {}, keep_inputs)
    offsets: dict[str, int] = {}
    state_bytes = 0
    for block in blocks:
        if block.name in graph.states:
            offsets[block.name] = state_bytes
            state_bytes += -(-block.size_bytes // alignment_bytes) * alignment_bytes
    others = [block for block in blocks if block.name not in graph.states]
    placed = pack(others, alignment_bytes, sharing, goal_bytes and goal_bytes - state_bytes)
    offsets |= {name: state_bytes + at for name, at in placed.items()}
    extent = max((offsets[b.name] + b.size_bytes for b in blocks), default=0)
    plan = MemoryPlan(
        pool=pool.name,
        blocks=blocks,
        offsets=offsets,
        views=roots,
        arena_bytes=-(-extent // alignment_bytes) * alignment_bytes,
        lower_bound_bytes=lower_bound(blocks, sharing),
        alignment_bytes=alignment_bytes,
        overlaps=sharing,
        state_bytes=state_bytes,
    )
    plan.verify()
    return plan
