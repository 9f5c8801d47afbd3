"""Operators of one 8-bit input and an 8-bit output: a clamp where that is all, else a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import by_element
from uhost.kernels.reference._lookup import response
from uhost.targets._work import Work


def why_not_bytes(bound: BoundOperator[Any]) -> str:
    """Returns "" for 8-bit elements that become 8-bit elements, or the reason."""
    source, output = bound.input(0).dtype, bound.output.dtype
    if (source.size_bytes, output.size_bytes) != (1, 1):
        return f"{source} to {output}"
    return ""


def lookup_call(bound: BoundOperator[Any]) -> KernelCall:
    """Returns the call that gives exactly what the operator's reference gives."""
    source, output = bound.input(0), bound.output
    inputs, outputs = response(bound)
    lowest, highest = int(outputs.min()), int(outputs.max())
    input_parameter = Parameter("input", f"const {source.dtype.c_type} *", "input")
    output_parameter = Parameter("output", f"{output.dtype.c_type} *", "output")
    if source.dtype is output.dtype and (np.clip(inputs, lowest, highest) == outputs).all():
        values = {
            "elements": source.elements,
            "lane": "s8" if inputs[0] < 0 else "u8",
            "lowest": lowest,
            "highest": highest,
        }
        return KernelCall(
            "mve",
            "clamp",
            values,
            (input_parameter, output_parameter),
            overlaps=(by_element(bound),),
        )
    # The index is the byte itself: of a negative input 256 more.
    table = np.roll(outputs, int(inputs[0]))
    return KernelCall(
        "mve",
        "lookup",
        {"elements": source.elements},
        (
            input_parameter,
            Parameter("table", f"const {output.dtype.c_type} *", "constant"),
            output_parameter,
        ),
        constants=(Constant("table", table),),
        overlaps=(by_element(bound),),
    )


def lookup_cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of a call that `lookup_call` made."""
    turns = -(-bound.input(0).elements // 16)
    if call.template == "clamp":
        turn = Work(vector_load=1, vector_alu=2, vector_store=1, branch=1)
        return Cost(turns * turn + Work(alu=5, vector_alu=2, branch=3), 48)
    turn = Work(vector_load=2, vector_store=1, branch=1)
    return Cost(turns * turn + Work(store_many=1, load_many=1, words=4, alu=4, branch=2), 36)
