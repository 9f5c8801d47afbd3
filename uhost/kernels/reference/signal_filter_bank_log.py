"""Logarithms of whole numbers in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_filter_bank_log import (
    NATURAL,
    SignalFilterBankLogAttributes,
    log_corrections,
)


def _lower(bound: BoundOperator[SignalFilterBankLogAttributes]) -> KernelCall:
    values = {
        "elements": bound.input(0).elements,
        "shift": bound.attributes.input_correction_bits,
        "scale": bound.attributes.output_scale % 2**32,
        "natural": NATURAL,
    }
    table = Constant("corrections", log_corrections())
    return lower_signal(
        bound, values, ("input",), ("output",), constants=[table], includes=("bit_length",)
    )


KERNEL = Kernel(
    operator="signal_filter_bank_log", supports=takes_anything, lower=_lower, cost=stated_cost
)
