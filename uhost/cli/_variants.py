"""`uhost inspect --variants`: the kernels of each operator, what they take, and which was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from uhost.codegen.lowered import Lowered
    from uhost.ir.graph import BoundOperator
    from uhost.kernels._partition import Variant

TAKEN = "taken"


def variant_records(lowered: Lowered) -> dict[str, Any]:
    """Returns operator → its kernels, the one taken first, and what all those taken need."""
    from uhost.codegen.stated import stated

    operators = []
    for bound in lowered.graph.bound_operators():
        selection = lowered.selections.get(bound.name)
        if selection is None:
            continue
        kernels = [_record(bound, selection.variant, TAKEN)]
        kernels += [_record(bound, one, reason) for one, reason in selection.others]
        kernels += [
            {"kernel": f"{one.library}/{one.kernel}".rstrip("/"), "verdict": f"refused: {reason}"}
            for one in selection.refused
            for reason in [one.reason]
        ]
        operators.append({"operator": bound.name, "kernels": kernels})
    total = stated([lowered])
    return {
        "operators": operators,
        "total": {
            "cycles": total.cycles,
            "instructions": total.instructions,
            "code_bytes": total.code_bytes,
            "constant_bytes": total.constant_bytes,
            "flash_bytes": total.flash_bytes,
            "arena_bytes": lowered.plan.arena_bytes,
        },
    }


def _record(bound: BoundOperator[Any], variant: Variant, verdict: str) -> dict[str, Any]:
    from uhost.codegen.lowered import constants_of

    cost = variant.cost
    constants = sum(c.values.nbytes for c in constants_of(bound, variant.call))
    return {
        "kernel": variant.place,
        "verdict": verdict,
        "cycles": variant.cycles,
        "instructions": cost.work.instructions if cost else None,
        "code_bytes": cost.code_bytes if cost else None,
        "shared_bytes": sum(cost.shared_bytes.values()) if cost else None,
        "constant_bytes": constants,
        "scratch_bytes": variant.call.scratch_bytes,
    }


_COUNTS = (
    ("cycles", "cycles"),
    ("instructions", "instructions"),
    ("code", "code_bytes"),
    ("shared", "shared_bytes"),
    ("weights", "constant_bytes"),
    ("scratch", "scratch_bytes"),
)


def variant_tables(record: dict[str, Any]) -> list[str | Table]:
    """Returns the kernels of every operator as a table, and the totals of those taken."""
    from uhost.report.tables import table
    from uhost.report.units import count, kib

    headers = [name for name, _ in _COUNTS]
    made = table("operator", "kernel", *headers, "", right=headers)
    for index, operator in enumerate(record["operators"]):
        if index:
            made.add_section()
        for row, kernel in enumerate(operator["kernels"]):
            figures = (count(kernel.get(key)) for _, key in _COUNTS)
            name = "" if row else operator["operator"]
            made.add_row(name, kernel["kernel"], *figures, kernel["verdict"])
    total = record["total"]
    return [
        made,
        "",
        f"Taken in all: {count(total['cycles'])} cycles, {count(total['instructions'])} "
        f"instructions, flash {kib(total['flash_bytes'])} (code {kib(total['code_bytes'])}, "
        f"constants {kib(total['constant_bytes'])}), arena {kib(total['arena_bytes'])}.",
        "Estimates, by the stated costs and a model of the core. Code and shared are bytes of a "
        "function and of what it calls; shared ones are in flash once.",
    ]
