"""The arena over the schedule, for a terminal and as SVG: who lives where, and when."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from uhost.ir.printer import short_name
from uhost.report.units import count, kib

if TYPE_CHECKING:
    from rich.table import Table

    from uhost.codegen.lowered import Lowered

_ROWS = 24
_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_FREE, _SCRATCH = "·", "="


def memory_record(lowered: Lowered) -> dict[str, Any]:
    """Returns the plan of a model for `--json` and for the functions below.

    `blocks` are who lives where and when, `shared` the pairs that lie on the same bytes while
    both live, `peak` the step at which most bytes are needed and who makes it.
    """
    from dataclasses import asdict

    from uhost.runtime.benchmark import placed_blocks

    plan = lowered.plan
    sizes = {block.name: block.size_bytes for block in plan.blocks}
    shared = []
    for one in plan.overlaps:
        read, written = plan.offsets[one.read], plan.offsets[one.written]
        common = min(read + sizes[one.read], written + sizes[one.written]) - max(read, written)
        if common > 0:
            shared.append({"read": one.read, "written": one.written, "shared_bytes": common})
    step = plan.peak_step()
    operators = lowered.graph.operators
    return {
        "arena_bytes": plan.arena_bytes,
        "arena_lower_bound_bytes": plan.lower_bound_bytes,
        "pool": plan.pool,
        "operators": [{"name": operator.name} for operator in operators],
        "memory": [asdict(block) for block in placed_blocks(lowered)],
        "shared": shared,
        "peak": {
            "step": step,
            "operator": operators[step].name if operators else None,
            "blocks": [block.name for block in plan.live_at(step)],
        },
    }


def draw(record: dict[str, Any], width: int) -> str:
    """Returns the arena as text: offsets upwards, steps to the right, a letter per tensor.

    The picture is at most `width` characters wide, if there are not more steps. Letters take
    turns where two tensors share bytes while both live; `=` is scratch, `·` is free.
    """
    blocks = record["memory"]
    steps = 1 + max((block["last"] for block in blocks), default=0)
    arena = max(record["arena_bytes"], 1)
    rows = min(_ROWS, -(-arena // 8))
    each = max(min((width - 12) // steps, 5), 1)
    letters = letters_of(blocks)
    lines = []
    for row in reversed(range(rows)):
        low, high = row * arena / rows, (row + 1) * arena / rows
        cells = "".join(
            _cell(blocks, letters, step, (low + high) / 2, each) for step in range(steps)
        )
        lines.append(f"{kib(round(high)):>10} {cells}")
    marks = "".join(
        ("^" if step == record["peak"]["step"] else " ") * each for step in range(steps)
    )
    numbers = "".join(
        f"{step:<{each * 5}}" if step % 5 == 0 else "" for step in range(steps)
    ).rstrip()
    lines += [f"{'step':>10} {numbers}", f"{'peak':>10} {marks}".rstrip()]
    return "\n".join(lines)


def letters_of(blocks: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Returns block name → the letter that stands for it, in order of time."""
    ordered = sorted(
        (b for b in blocks if b["role"] != "scratch"), key=lambda b: (b["first"], b["name"])
    )
    letters = {b["name"]: _LETTERS[i % len(_LETTERS)] for i, b in enumerate(ordered)}
    return letters | {b["name"]: _SCRATCH for b in blocks if b["role"] == "scratch"}


def _cell(
    blocks: Sequence[dict[str, Any]], letters: dict[str, str], step: int, offset: float, width: int
) -> str:
    there = "".join(
        letters[b["name"]]
        for b in sorted(blocks, key=lambda b: -int(b["first"]))
        if b["first"] <= step <= b["last"] and b["offset"] <= offset < b["offset"] + b["size_bytes"]
    )
    return ((there or _FREE) * width)[:width]


def legend(record: dict[str, Any]) -> Table:
    """Returns the table of who the letters are, and whose bytes each runs over."""
    from rich.markup import escape

    from uhost.report.tables import table

    letters = letters_of(record["memory"])
    over = {one["written"]: one for one in record["shared"]}
    made = table("", "tensor", "bytes", "offset", "steps", "runs over", right=("bytes", "offset"))
    for block in sorted(record["memory"], key=lambda b: (b["first"], b["role"], b["name"])):
        one = over.get(block["name"])
        made.add_row(
            letters[block["name"]],
            escape(short_name(block["name"])),
            count(block["size_bytes"]),
            count(block["offset"]),
            f"{block['first']}-{block['last']}",
            f"{letters[one['read']]}, {count(one['shared_bytes'])} B" if one else "",
        )
    return made


def peak_line(record: dict[str, Any]) -> str:
    """Returns one line: the arena, its bound, and who makes the peak."""
    peak = record["peak"]
    letters = letters_of(record["memory"])
    sizes = {b["name"]: b["size_bytes"] for b in record["memory"]}
    who = ", ".join(
        f"{letters[name]} {kib(sizes[name])}" for name in peak["blocks"] if name in letters
    )
    return (
        f"Arena {kib(record['arena_bytes'])} in {record['pool']}, lower bound "
        f"{kib(record['arena_lower_bound_bytes'])}. Peak at step {peak['step']} "
        f"({peak['operator']}): {who}"
    )


def svg(record: dict[str, Any]) -> str:
    """Returns the arena over the schedule as an SVG document."""
    from uhost import resources
    from uhost.codegen.environment import render
    from uhost.report.plots import WIDTH, schedule

    style = (resources.folder("templates") / "report" / "_style.css").read_text()
    values = {"plot": schedule(record), "width": WIDTH, "style": style}
    return render("report/memory.svg.j2", values)
