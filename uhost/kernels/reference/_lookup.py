"""Operators of one 8-bit input and an 8-bit output: a clamp where that is all, else a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.kernels._kernel import Constant, KernelCall
from uhost.kernels._overlap import by_element
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
)
from uhost.ops._op import OPERATORS


def response(bound: BoundOperator[Any]) -> tuple[NDArray[np.int64], Array]:
    """Returns every value of the 8-bit input, ascending, and the output for each."""
    source = bound.input(0)
    limits = np.iinfo(source.dtype.value)
    inputs = np.arange(limits.min, limits.max + 1)
    # The operator works element by element, so a vector shows what it does to any shape.
    outputs = OPERATORS[bound.kind].reference(bound, [inputs.astype(source.dtype.numpy)])[0]
    return inputs, outputs


def lower_lookup(bound: BoundOperator[Any]) -> KernelCall:
    """Returns the call that gives exactly what the operator's reference gives."""
    source, output = bound.input(0), bound.output
    inputs, outputs = response(bound)
    lowest, highest = int(outputs.min()), int(outputs.max())
    pointers = input_parameter(source), output_parameter(output)
    if source.dtype is output.dtype and (np.clip(inputs, lowest, highest) == outputs).all():
        values = {
            "elements": source.elements,
            "c_type": output.dtype.c_type,
            "lowest": str(lowest) if lowest > inputs[0] else "",
            "highest": str(highest) if highest < inputs[-1] else "",
        }
        return KernelCall("reference", "clamp", values, pointers, overlaps=(by_element(bound),))
    # By its bits as an unsigned number an element is the index of its own output.
    values = {"elements": source.elements, "signed": bool(inputs[0] < 0)}
    table = np.roll(outputs, int(inputs[0]))
    return KernelCall(
        "reference",
        "lookup",
        values,
        (pointers[0], constant_parameter("table", output.dtype.c_type), pointers[1]),
        constants=(Constant("table", table),),
        overlaps=(by_element(bound),),
    )
