"""The smallest arena that any plan of some blocks can have, by a constraint solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uhost.planner.plan import Block, Overlap


@dataclass(frozen=True, slots=True)
class Proven:
    """No arena of the blocks is smaller than `least_bytes`; one of `found_bytes` exists."""

    least_bytes: int
    found_bytes: int


def prove(
    blocks: Sequence[Block],
    alignment_bytes: int,
    overlaps: Sequence[Overlap] = (),
    known_bytes: int | None = None,
    timeout_s: float = 10,
) -> Proven:
    """Returns what OR-tools' CP-SAT proves of the arena of `blocks`; repeatable on one worker.

    `known_bytes` is the extent of a plan that exists. The two sizes are equal unless time runs
    out. Two blocks live at one step lie one above the other, or share bytes as they may.
    """
    from ortools.sat.python import cp_model

    blocks = [block for block in blocks if block.size_bytes]
    if known_bytes is None:
        known_bytes = sum(block.size_bytes + alignment_bytes for block in blocks)
    model = cp_model.CpModel()
    extent = model.new_int_var(0, known_bytes, "extent")
    offsets = {}
    for block in blocks:
        place = model.new_int_var(0, known_bytes // alignment_bytes, block.name)
        offsets[block.name] = place * alignment_bytes
        model.add(place * alignment_bytes + block.size_bytes <= extent)
    leave = {(one.read, one.written): one for one in overlaps}
    for index, one in enumerate(blocks):
        for two in blocks[index + 1 :]:
            if not one.overlaps(two):
                continue
            ways = []
            for low, high in ((one, two), (two, one)):
                above = model.new_bool_var(f"{high.name} above {low.name}")
                end = offsets[low.name] + low.size_bytes
                model.add(end <= offsets[high.name]).only_enforce_if(above)
                ways.append(above)
                allowed = leave.get((low.name, high.name))
                if allowed is not None:
                    shares = model.new_bool_var(f"{high.name} over {low.name}")
                    apart = offsets[low.name] - offsets[high.name]
                    if allowed.least is not None:
                        model.add(apart >= allowed.least).only_enforce_if(shares)
                    if allowed.most is not None:
                        model.add(apart <= allowed.most).only_enforce_if(shares)
                    ways.append(shares)
            model.add_bool_or(ways)
    model.minimize(extent)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = timeout_s
    status = solver.solve(model)
    least = int(solver.best_objective_bound)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Proven(least, int(solver.objective_value))
    assert status == cp_model.UNKNOWN, solver.status_name(status)
    return Proven(least, known_bytes)
