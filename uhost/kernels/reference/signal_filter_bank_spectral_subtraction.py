"""Noise subtraction in portable C."""

from __future__ import annotations

from dataclasses import asdict

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._signal import lower_signal
from uhost.ops.signal_filter_bank_spectral_subtraction import (
    SignalFilterBankSpectralSubtractionAttributes,
)


def _lower(bound: BoundOperator[SignalFilterBankSpectralSubtractionAttributes]) -> KernelCall:
    outputs = ("output", "noise", "estimate")
    return lower_signal(bound, asdict(bound.attributes), ("input",), outputs)


KERNEL = Kernel(
    operator="signal_filter_bank_spectral_subtraction",
    supports=takes_anything,
    lower=_lower,
    cost=stated_cost,
)
