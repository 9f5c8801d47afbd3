"""CIRCULAR_BUFFER in portable C: the slots move on by one."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.circular_buffer import CircularBufferAttributes


def _lower(bound: BoundOperator[CircularBufferAttributes]) -> KernelCall:
    depth = bound.input(0).elements
    kept = bound.outputs[0].elements - depth
    cycles = bound.attributes.cycles_max
    if kept == 0 and cycles == 1:
        return lower_copies(bound, [Piece((depth,), (1,), (1,))])
    outputs = ["output", *["goes_on"] * (cycles > 1), *["slots"] * (kept > 0)]
    outputs += ["count"] * (cycles > 1)
    values = {"depth": depth, "kept": kept, "cycles": cycles}
    return lower_signal(bound, values, ("input",), outputs)


KERNEL = Kernel(operator="circular_buffer", supports=takes_anything, lower=_lower, cost=stated_cost)
