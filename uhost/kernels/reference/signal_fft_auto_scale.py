"""The scaling of frames before a Fourier transform in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_fft_auto_scale import SignalFftAutoScaleAttributes


def _lower(bound: BoundOperator[SignalFftAutoScaleAttributes]) -> KernelCall:
    values = {"samples": bound.input(0).elements}
    includes = ("bit_length",)
    return lower_signal(bound, values, ("input",), ("output", "bits"), includes=includes)


KERNEL = Kernel(
    operator="signal_fft_auto_scale", supports=takes_anything, lower=_lower, cost=stated_cost
)
