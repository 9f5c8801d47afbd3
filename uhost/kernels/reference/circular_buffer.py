"""The last samples of a stream in portable C: the state moves up by one sample."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.circular_buffer import CircularBufferAttributes


def _lower(bound: BoundOperator[CircularBufferAttributes]) -> KernelCall:
    sample_bytes = math.prod(bound.input(0).shape)
    kept_bytes = bound.outputs[0].elements - sample_bytes
    values = {"sample": sample_bytes, "kept": kept_bytes}
    names = ("output", "kept") if kept_bytes else ("output",)
    return lower_signal(bound, values, ("input",), names)


KERNEL = Kernel(operator="circular_buffer", supports=takes_anything, lower=_lower)
