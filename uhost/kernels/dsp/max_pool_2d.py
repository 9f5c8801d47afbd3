"""MAX_POOL_2D over windows that lie on the image, four channels at a time."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._pool import pool_call, pool_cost, why_not_pooled
from uhost.ops.max_pool_2d import MaxPool2DAttributes
from uhost.targets._work import Work


def _supports(bound: BoundOperator[MaxPool2DAttributes]) -> str:
    return why_not_pooled(bound, 4)


def _lower(bound: BoundOperator[MaxPool2DAttributes]) -> KernelCall:
    return pool_call("max_pool_2d", bound, {}, ("dsp_maximum",))


def _cost(_bound: BoundOperator[MaxPool2DAttributes], call: KernelCall) -> Cost:
    rows, columns = call.values["window"]
    row = Work(alu=4, load=1, branch=1) * columns + Work(alu=2, load=1, branch=1)
    routine = row * rows + Work(store=1, load=2, load_many=2, store_many=1, words=12, branch=1)
    return pool_cost(call, 4, routine, {"dsp_maximum": 56})


KERNEL = Kernel("max_pool_2d", _supports, _lower, features=("dsp",), cost=_cost)
