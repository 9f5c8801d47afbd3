"""Stacks of frames in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_stacker import SignalStackerAttributes


def _lower(bound: BoundOperator[SignalStackerAttributes]) -> KernelCall:
    at = bound.attributes
    values = {
        "channels": at.num_channels,
        "before": at.before,
        "behind": at.stacker_right_context,
        "step": at.stacker_step,
        "kept": at.before * at.num_channels,
    }
    history = ("history",) if at.before else ()
    return lower_signal(bound, values, ("frame",), ("stack", "valid", *history, "wait"))


KERNEL = Kernel(operator="signal_stacker", supports=takes_anything, lower=_lower, cost=stated_cost)
