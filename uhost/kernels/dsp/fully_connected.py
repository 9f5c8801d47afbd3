"""FULLY_CONNECTED: the product of a weight matrix and one or more vectors."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._channels import fold, why_not_int8
from uhost.kernels.dsp._product import pointwise_call, why_inexact
from uhost.kernels.dsp._product_cost import pointwise_cost
from uhost.ops.fully_connected import FullyConnectedAttributes


def _supports(bound: BoundOperator[FullyConnectedAttributes]) -> str:
    return why_not_int8(bound) or why_inexact(fold(bound))


def _lower(bound: BoundOperator[FullyConnectedAttributes]) -> KernelCall:
    return pointwise_call("fully_connected", bound, fold(bound))


KERNEL = Kernel("fully_connected", _supports, _lower, features=("dsp",), cost=pointwise_cost)
