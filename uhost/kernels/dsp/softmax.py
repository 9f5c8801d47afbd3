"""SOFTMAX of int8 rows by a table of exact exponentials.

The table holds, for every distance to a row's maximum that matters, twice the fixed-point
exponential that the reference computes, so that the rounded high word of one long multiply is
the reference's doubling high multiply. A zero ends it; larger distances read that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.numerics.softmax import softmax_exponentials
from uhost.ops.softmax import SoftmaxAttributes
from uhost.targets._work import Work

_NEGLIGIBLE = 1 << 11
"""Below it an exponential in Q0.31 rounds to 0 in the Q12.19 sum, and its output to 0."""


def _table(bound: BoundOperator[SoftmaxAttributes]) -> NDArray[np.uint32]:
    values = softmax_exponentials(bound.attributes.beta, bound.input(0).scale)
    count = 1 + int(np.flatnonzero(values >= _NEGLIGIBLE)[-1])
    doubled = 2 * values[:count].astype(np.uint32)
    return doubled if count == 256 else np.append(doubled, np.uint32(0))


def _supports(bound: BoundOperator[SoftmaxAttributes]) -> str:
    for what, tensor in (("input", bound.input(0)), ("output", bound.output)):
        if tensor.dtype is not DType.INT8:
            return f"{tensor.dtype} {what}"
    return ""


def _lower(bound: BoundOperator[SoftmaxAttributes]) -> KernelCall:
    source, table = bound.input(0), _table(bound)
    depth = source.shape[-1]
    return KernelCall(
        library="dsp",
        template="softmax",
        values={"rows": source.elements // depth, "depth": depth, "last": table.size - 1},
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("exponentials", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
        ),
        constants=(Constant("exponentials", table),),
        includes=("dsp", "requantize", "softmax"),
    )


def _cost(_bound: BoundOperator[SoftmaxAttributes], call: KernelCall) -> Cost:
    depth, last = call.values["depth"], call.values["last"]
    clips = Work(alu=3, untaken=1) if last < 255 else Work()
    highest = Work(alu=3, load=1, branch=1)
    summed = clips + Work(alu=4, load=2, branch=1)
    written = clips + Work(multiply=1, alu=10, load=2, store=1, branch=1)
    row = (highest + summed + written) * depth + Work(multiply=8, alu=57, load=4, branch=2)
    if depth <= 2:  # loops that GCC spells out
        row = Work(multiply=8, alu=57, load=4, store=1, branch=2)
        row += (clips * 6 + Work(multiply=2, alu=20, load=5, store=1)) * (depth - 1)
    around = Work(load_many=1, store_many=1, words=18)
    if call.values["rows"] > 1:
        row += Work(alu=5, branch=1)
        around += Work(alu=4)
    code = 250 + 35 * (call.values["rows"] > 1) - 100 * (depth == 1)
    return Cost(row * call.values["rows"] + around, code)


KERNEL = Kernel("softmax", _supports, _lower, features=("dsp",), cost=_cost)
