"""Per-channel amplitude normalisation in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_pcan import SignalPcanAttributes


def _lower(bound: BoundOperator[SignalPcanAttributes]) -> KernelCall:
    values = {"elements": bound.input(0).elements, "shift": bound.attributes.snr_shift}
    inputs = ("input", "noise", "gains")
    return lower_signal(bound, values, inputs, ("output",), includes=("bit_length", "pcan_gain"))


KERNEL = Kernel(operator="signal_pcan", supports=takes_anything, lower=_lower, cost=stated_cost)
