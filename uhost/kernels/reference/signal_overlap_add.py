"""Overlapping frames added up in portable C."""

from __future__ import annotations

import math
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_overlap_add import SignalOverlapAddAttributes


def _lower(bound: BoundOperator[SignalOverlapAddAttributes]) -> KernelCall:
    source, step = bound.input(0), bound.attributes.frame_step
    values: dict[str, Any] = {
        "rows": math.prod(source.shape[:-2]),
        "frames": source.shape[-2],
        "size": source.shape[-1],
        "step": step,
        "kept": source.shape[-1] - step,
        "c_type": source.dtype.c_type,
        "is_float": source.dtype is DType.FLOAT32,
    }
    states = ("sums",) if values["kept"] else ()
    return lower_signal(bound, values, ("input",), ("output", *states))


KERNEL = Kernel(
    operator="signal_overlap_add", supports=takes_anything, lower=_lower, cost=stated_cost
)
