"""Filter banks in portable C: the places of the channels are one table."""

from __future__ import annotations

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_filter_bank import SignalFilterBankAttributes, bands


def _lower(bound: BoundOperator[SignalFilterBankAttributes]) -> KernelCall:
    table = Constant("bands", np.array(bands(bound), np.int16))
    values = {"channels": bound.attributes.num_channels}
    inputs = ("energies", "weights", "unweights")
    return lower_signal(bound, values, inputs, ("output",), constants=[table])


KERNEL = Kernel(
    operator="signal_filter_bank", supports=takes_anything, lower=_lower, cost=stated_cost
)
