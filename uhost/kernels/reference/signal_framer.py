"""Overlapping frames in portable C."""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops._signal import rows_of
from uhost.ops.signal_framer import SignalFramerAttributes


def _lower(bound: BoundOperator[SignalFramerAttributes]) -> KernelCall:
    samples, at = bound.input(0), bound.attributes
    values: dict[str, Any] = {
        "rows": rows_of(samples),
        "frames": samples.shape[-1] // at.frame_step,
        "samples": samples.shape[-1],
        "size": at.frame_size,
        "step": at.frame_step,
        "kept": at.kept,
        "waits": at.wait > 0,
    }
    states = (*(("kept",) if at.kept else ()), *(("wait",) if at.wait else ()))
    return lower_signal(bound, values, ("input",), ("output", "valid", *states))


KERNEL = Kernel(operator="signal_framer", supports=takes_anything, lower=_lower, cost=stated_cost)
