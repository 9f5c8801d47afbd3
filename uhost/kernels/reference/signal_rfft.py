"""The spectra of samples in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._fourier import lower_transform
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.signal_rfft import SignalRfftAttributes


def _lower(bound: BoundOperator[SignalRfftAttributes]) -> KernelCall:
    return lower_transform(bound, inverse=False)


KERNEL = Kernel(operator="signal_rfft", supports=takes_anything, lower=_lower, cost=stated_cost)
