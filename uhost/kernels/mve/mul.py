"""MUL of int8, eight products at a time, with any broadcasting."""

from __future__ import annotations

from dataclasses import replace

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.mve._rows import rows_call, rows_of, rows_work, scaling_work
from uhost.ops.mul import MulAttributes, mul_scaling
from uhost.targets._work import Work

_LANES = 8


def _supports(bound: BoundOperator[MulAttributes]) -> str:
    return "" if bound.output.dtype is DType.INT8 else f"{bound.output.dtype}"


def _lower(bound: BoundOperator[MulAttributes]) -> KernelCall:
    values = {
        "first_zero_point": bound.input(0).zero_point,
        "second_zero_point": bound.input(1).zero_point,
        "scale": mul_scaling(bound),
    }
    return rows_call("mul", bound, rows_of(bound), bound.attributes.activation, values)


def _cost(bound: BoundOperator[MulAttributes], call: KernelCall) -> Cost:
    p = call.values
    rows = rows_of(bound)
    moving = 1 if rows.first_stands or rows.second_stands else 2
    clamped = 2 if (p["lowest"], p["highest"]) != (-128, 127) else 0
    turn = moving * Work(vector_load=1, vector_alu=1) + Work(vector_multiply=2)
    turn += 2 * scaling_work(p["scale"][1]) + Work(vector_alu=5 + clamped, vector_store=1, branch=1)
    cost = rows_work(rows, turn, 180, lanes=_LANES, begin=3)
    tail = 2 if rows.length % _LANES else 0
    return replace(cost, work=cost.work + rows.count * Work(vector_alu=tail))


KERNEL = Kernel("mul", _supports, _lower, features=("mve",), cost=_cost)
