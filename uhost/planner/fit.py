"""Says before anything is compiled whether a model can fit a board's memory at all."""

from __future__ import annotations

from collections.abc import Iterable

from uhost.config.board import Board
from uhost.errors import OutOfMemoryError
from uhost.ir.graph import Graph
from uhost.ir.printer import short_name
from uhost.planner.plan import MemoryPlan

_SHOWN = 8


def check_fits(
    graph: Graph, plan: MemoryPlan, constant_bytes: int, board: Board, params_ram_bytes: int = 0
) -> None:
    """Raises `OutOfMemoryError` where arena and stack exceed RAM, or weights exceed flash.

    `params_ram_bytes` are weights that lie in RAM, beside the `constant_bytes` in flash.
    A model that passes may still be refused by the linker, which knows the firmware's own
    needs as well.
    """
    regions = {region.name: region for region in board.regions}
    if not regions:
        return
    ram, flash = regions[board.ram], regions[board.flash]
    # An arena in another region is checked against its pool.
    arena_bytes = plan.arena_bytes if plan.pool in (ram.name, "ram") else 0
    missing = arena_bytes + board.stack_bytes + params_ram_bytes - ram.size_bytes
    if missing > 0:
        raise arena_too_large(graph, plan, board, missing, params_ram_bytes)
    if constant_bytes > flash.size_bytes:
        raise OutOfMemoryError(
            f"the weights do not fit: region '{flash.name}' of {board.name} has "
            f"{flash.size_bytes:,} B, the weights and tables need {constant_bytes:,} B, "
            f"at least {constant_bytes - flash.size_bytes:,} B are missing. "
            f"{largest_weights([graph])}",
            where=f"model '{graph.name}' on board '{board.name}'",
            fix="choose a board with more flash, or a smaller model",
        )


def arena_too_large(
    graph: Graph, plan: MemoryPlan, board: Board, missing_bytes: int, params_ram_bytes: int = 0
) -> OutOfMemoryError:
    """Returns the error that names the region, the bytes missing and who makes the peak.

    `missing_bytes` are those of arena, stack and weights: the firmware's own come on top.
    """
    ram = next(r for r in board.regions if r.name == board.ram)
    return OutOfMemoryError(
        f"the model does not fit: region '{ram.name}' of {board.name} has "
        f"{ram.size_bytes:,} B, at least {missing_bytes:,} B are missing. "
        f"{peak(graph, plan, board, params_ram_bytes)}",
        where=f"model '{graph.name}' on board '{board.name}'",
        fix="choose a board with more RAM, or a smaller input",
    )


def peak(graph: Graph, plan: MemoryPlan, board: Board, params_ram_bytes: int = 0) -> str:
    """Returns what the model takes of RAM, and the tensors that make the arena as large."""
    step = plan.peak_step()
    live = plan.live_at(step)
    operator = graph.operators[step].name if graph.operators else "-"
    weights = f" The weights in RAM take {params_ram_bytes:,} B." if params_ram_bytes else ""
    listed = "\n".join(
        f"  {b.size_bytes:>10,} B  {short_name(b.name)}  (steps {b.first} to {b.last})"
        for b in live[:_SHOWN]
    )
    return (
        f"The arena takes {plan.arena_bytes:,} B and the stack {board.stack_bytes:,} B.{weights} "
        f"Live at the peak, step {step} ({operator}):\n{listed}"
    )


def largest_weights(graphs: Iterable[Graph]) -> str:
    """Returns the constants that take the most flash, as text."""
    constants = [t for graph in graphs for t in graph.tensors.values() if t.is_constant]
    largest = sorted(constants, key=lambda t: (-t.size_bytes, t.name))[:_SHOWN]
    listed = "\n".join(f"  {t.size_bytes:>10,} B  {short_name(t.name)}" for t in largest)
    return f"The largest weights:\n{listed}"
