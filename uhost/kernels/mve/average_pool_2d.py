"""AVERAGE_POOL_2D of int8: eight channels at a time; padding is left out of every window.

The quotient of a sum s of n pixels is s·m / 2^30 rounded, with m = floor(2^30 / n) + 1.
This m is above 2^30 / n by at most 1, so the product lies away from zero from s / n by at most
|s| / 2^30 ≤ 128·n / 2^30. What is not halfway between integers is at least 1 / (2n) from
there, and keeps its side while 256·n² < 2^30. What is halfway goes away from zero, as it should.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.mve._pool import pool_call, pool_cost, why_not_pooled
from uhost.targets._work import Work

MOST_PIXELS = 2047
"""Pixels of a window up to which the multiplication divides exactly."""
_MOST_IN_HALFWORDS = 256
"""Pixels whose sum fits 16 bits."""


def _pixels(bound: BoundOperator[Any]) -> int:
    rows, columns = bound.attributes.window
    _, height, width, _ = bound.input(0).shape
    return int(min(rows, height) * min(columns, width))


def _supports(bound: BoundOperator[Any]) -> str:
    reason = why_not_pooled(bound)
    if reason:
        return reason
    if bound.attributes.unsigned:
        return "ties upward"
    return "" if _pixels(bound) <= MOST_PIXELS else f"windows of more than {MOST_PIXELS} pixels"


def _lower(bound: BoundOperator[Any]) -> KernelCall:
    lanes = 8 if _pixels(bound) <= _MOST_IN_HALFWORDS else 4
    return pool_call("average_pool_2d", bound, lanes, {})


def _cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    p = call.values
    if p["lanes"] == 8:
        cost = pool_cost(bound, call, Work(vector_multiply=2, vector_alu=4), 160)
    else:
        cost = pool_cost(bound, call, Work(vector_multiply=1, vector_alu=1), 140)
    if not any((*p["starts_outside"], *p["ends_outside"])):
        return cost
    # How many pixels a window has, and the division.
    pixels = p["images"] * p["outputs"][0] * p["outputs"][1]
    return replace(cost, work=cost.work + pixels * Work(multiply=1, divide=1, alu=2))


KERNEL = Kernel("average_pool_2d", _supports, _lower, features=("mve",), cost=_cost)
