"""WHILE in portable C: the outputs hold the values from round to round.

Both graphs run in the same memory, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall, Routine
from uhost.kernels.reference._calls import copies_in, copies_out, lower_calls, never, state_copies
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._calls import arguments_of
from uhost.ops.loop import LoopAttributes


def _lower(bound: BoundOperator[LoopAttributes], routines: Sequence[Routine]) -> KernelCall:
    condition, body = routines
    values = arguments_of(bound)
    held = [f"output_{n}" for n in range(len(values))]
    start = tuple((name, f"input_{n}", values[n].size_bytes) for n, name in enumerate(held))
    first = len(values)
    asked_before, asked_after = state_copies(condition, 0, bound.attributes, first)
    before, after = state_copies(body, 1, bound.attributes, first)
    parts = {
        "start": start,
        "ask": (*asked_before, *copies_in(condition, held, values)),
        "asked": asked_after,
        "into": (*before, *copies_in(body, held, values)),
        "out": (*copies_out(body, held, values), *after),
    }
    answer = condition.places[condition.graph.outputs[0]]
    copies = [copy for part in parts.values() for copy in part]
    return lower_calls(bound, routines, {**parts, "answer": answer}, copies)


KERNEL = Kernel(operator="loop", supports=takes_anything, lower=never, lower_calling=_lower)
