"""Delays in portable C: the state moves up by one input."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops._signal import rows_of
from uhost.ops.signal_delay import SignalDelayAttributes


def _lower(bound: BoundOperator[SignalDelayAttributes]) -> KernelCall:
    samples, delay = bound.input(0), bound.attributes.delay_length
    if delay == 0:
        return lower_copies(bound, [Piece((samples.elements,), (1,), (1,))])
    values = {"rows": rows_of(samples), "samples": samples.shape[-1], "delay": delay}
    return lower_signal(bound, values, ("input",), ("output", "delayed"))


KERNEL = Kernel(operator="signal_delay", supports=takes_anything, lower=_lower, cost=stated_cost)
