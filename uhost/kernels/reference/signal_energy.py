"""The energy of spectra in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_energy import SignalEnergyAttributes


def _lower(bound: BoundOperator[SignalEnergyAttributes]) -> KernelCall:
    values = {
        "bins": bound.output.elements,
        "first": bound.attributes.start_index,
        "end": bound.attributes.end_index,
    }
    return lower_signal(bound, values, ("spectrum",), ("energy",))


KERNEL = Kernel(operator="signal_energy", supports=takes_anything, lower=_lower, cost=stated_cost)
