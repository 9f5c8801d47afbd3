"""Square roots of whole numbers in portable C, a bit of the root at a time."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_filter_bank_square_root import SignalFilterBankSquareRootAttributes


def _lower(bound: BoundOperator[SignalFilterBankSquareRootAttributes]) -> KernelCall:
    values = {"elements": bound.input(0).elements}
    inputs = ("input", "bits")
    return lower_signal(bound, values, inputs, ("output",), includes=("square_root",))


KERNEL = Kernel(
    operator="signal_filter_bank_square_root",
    supports=takes_anything,
    lower=_lower,
    cost=stated_cost,
)
