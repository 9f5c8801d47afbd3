"""IF in portable C: the kernels of the graph that is chosen run in memory of their own."""

from __future__ import annotations

from collections.abc import Sequence

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall, Routine
from uhost.kernels.reference._calls import copies_in, copies_out, lower_calls, never, state_copies
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._calls import arguments_of
from uhost.ops.conditional import ConditionalAttributes


def _lower(bound: BoundOperator[ConditionalAttributes], routines: Sequence[Routine]) -> KernelCall:
    arguments = arguments_of(bound, 1)
    results = bound.outputs[: len(bound.outputs) - len(bound.attributes.states)]
    branches = []
    for number, routine in enumerate(routines):
        names = [f"input_{n + 1}" for n in range(len(arguments))]
        before, after = state_copies(routine, number, bound.attributes, len(results))
        targets = [f"output_{n}" for n in range(len(results))]
        branches.append(
            (
                (*before, *copies_in(routine, names, arguments)),
                (*copies_out(routine, targets, results), *after),
            )
        )
    copies = [copy for branch in branches for part in branch for copy in part]
    return lower_calls(bound, routines, {"branches": tuple(branches)}, copies, ["input_0"])


KERNEL = Kernel(operator="conditional", supports=takes_anything, lower=never, lower_calling=_lower)
