"""Windows in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops._signal import rows_of
from uhost.ops.signal_window import SignalWindowAttributes


def _lower(bound: BoundOperator[SignalWindowAttributes]) -> KernelCall:
    frames = bound.input(0)
    values = {
        "rows": rows_of(frames),
        "samples": frames.shape[-1],
        "shift": bound.attributes.shift,
    }
    return lower_signal(bound, values, ("input", "window"), ("output",))


KERNEL = Kernel(operator="signal_window", supports=takes_anything, lower=_lower, cost=stated_cost)
