"""The way from spectra to samples in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._fourier import lower_transform
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.signal_irfft import SignalIrfftAttributes


def _lower(bound: BoundOperator[SignalIrfftAttributes]) -> KernelCall:
    return lower_transform(bound, inverse=True)


KERNEL = Kernel(operator="signal_irfft", supports=takes_anything, lower=_lower, cost=stated_cost)
