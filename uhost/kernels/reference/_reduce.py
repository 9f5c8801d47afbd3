"""Reductions over constant axes: loops over the output around loops over what becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._nest import (
    headers,
    index_expression,
    loop_nest,
    row_major_strides,
)
from uhost.kernels.reference._parameters import input_parameter, output_parameter


@dataclass(frozen=True, slots=True)
class Fold:
    """C of a reduction: an accumulator of type `c_type`, what it begins with, and its end.

    `start` and `step`, a statement, write `@` for the element, in `start` the first of a row.
    The accumulator is `made`. `lines` come before `result` is stored.
    """

    c_type: str
    start: str
    step: str
    result: str
    lines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()


def lower_fold(bound: BoundOperator[Any], axes: Sequence[int], fold: Fold) -> KernelCall:
    """Returns the call of the loops around `fold`; the output's axes are those not in `axes`."""
    source, output = bound.input(0), bound.output
    kept = [1 if axis in axes else size for axis, size in enumerate(source.shape)]
    output_strides = [
        0 if axis in axes else stride for axis, stride in enumerate(row_major_strides(kept))
    ]
    loops = loop_nest(source.shape, row_major_strides(source.shape), output_strides)
    # A loop that leaves the output where it is adds to one element of it.
    outer = tuple(loop for loop in loops if loop.strides[1])
    inner = tuple(loop for loop in loops if not loop.strides[1])
    element = f"input[{index_expression(outer + inner, 0)}]"
    first = f"input[{index_expression(outer, 0)}]"
    values: dict[str, Any] = {
        "outer_loops": headers(outer),
        "inner_loops": headers(inner, len(outer)),
        "c_type": fold.c_type,
        "start": fold.start.replace("@", first),
        "step": fold.step.replace("@", element),
        "lines": fold.lines,
        "target": f"output[{index_expression(outer, 1)}]",
        "result": fold.result,
    }
    parameters = input_parameter(source), output_parameter(output)
    return KernelCall("reference", "fold", values, parameters, includes=fold.includes)
