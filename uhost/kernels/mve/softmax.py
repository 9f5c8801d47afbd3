"""SOFTMAX of int8, by the table of exponentials of all distances to a row's maximum.

The last entry is 0: longer distances are taken for its distance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._overlap import by_element
from uhost.numerics.softmax import softmax_exponentials
from uhost.ops.softmax import SoftmaxAttributes
from uhost.targets._work import Work

_NEGLIGIBLE = 1 << 11
"""Below it an exponential in Q0.31 rounds to 0 in the Q12.19 sum, and its output to 0."""
_DISTANCES = 256


def _table(bound: BoundOperator[SoftmaxAttributes]) -> NDArray[np.int32]:
    values = softmax_exponentials(bound.attributes.beta, bound.input(0).scale)
    values = np.where(values < _NEGLIGIBLE, 0, values).astype(np.int32)
    return values[: min(np.count_nonzero(values) + 1, _DISTANCES)]


def _supports(bound: BoundOperator[SoftmaxAttributes]) -> str:
    for what, tensor in (("input", bound.input(0)), ("output", bound.output)):
        if tensor.dtype is not DType.INT8:
            return f"{tensor.dtype} {what}"
    return ""


def _lower(bound: BoundOperator[SoftmaxAttributes]) -> KernelCall:
    source = bound.input(0)
    table = _table(bound)
    depth = source.shape[-1]
    return KernelCall(
        library="mve",
        template="softmax",
        values={
            "rows": source.elements // depth,
            "depth": depth,
            "entries": table.size,
            "cut": table.size < _DISTANCES,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("exponentials", "const int32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
        ),
        constants=(Constant("exponentials", table),),
        includes=("requantize", "softmax"),
        overlaps=(by_element(bound),),
    )


def _cost(bound: BoundOperator[SoftmaxAttributes], call: KernelCall) -> Cost:
    p = call.values
    cut = 1 if p["cut"] else 0
    depth = p["depth"]
    distance = Work(vector_load=2, vector_alu=1 + cut, branch=1)
    row = -(-depth // 16) * Work(vector_load=1, vector_alu=1, branch=1)
    row += -(-depth // 4) * (distance + Work(vector_alu=2))
    row += -(-depth // 4) * (distance + Work(vector_multiply=1, vector_alu=3, vector_store=1))
    # Three Newton steps in 64-bit products, and what stands around the loops.
    row += Work(multiply=8, alu=77, branch=5, vector_alu=3 + cut)
    return Cost(p["rows"] * row + Work(store_many=1, load_many=1, words=18, alu=6), 330)


KERNEL = Kernel("softmax", _supports, _lower, features=("mve",), cost=_cost)
