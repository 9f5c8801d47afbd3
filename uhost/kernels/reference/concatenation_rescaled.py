"""CONCATENATION of inputs that are quantised otherwise than the output: a table for each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
)
from uhost.ops.concatenation import ConcatenationAttributes, is_rescaled, rescaled
from uhost.targets._work import Work


def _supports(bound: BoundOperator[ConcatenationAttributes]) -> str:
    if any(is_rescaled(bound, index) for index in range(len(bound.inputs))):
        return ""
    return "all inputs are quantised as the output is"


def _lower(bound: BoundOperator[ConcatenationAttributes]) -> KernelCall:
    axis, output = bound.attributes.axis, bound.output
    every = np.arange(-128, 128).astype(np.int8)
    parts: list[tuple[str, int, str]] = []
    tables: list[Constant] = []
    for index in range(len(bound.inputs)):
        table = ""
        if is_rescaled(bound, index):
            table = f"table{index}"
            tables.append(Constant(table, rescaled(bound, index, every)))
        parts.append((f"input{index}", math.prod(bound.input(index).shape[axis:]), table))
    values: dict[str, Any] = {"blocks": math.prod(output.shape[:axis]), "parts": tuple(parts)}
    return KernelCall(
        "reference",
        "concatenation_rescaled",
        values,
        (
            *(input_parameter(bound.input(i), part[0], i) for i, part in enumerate(parts)),
            *(constant_parameter(table.role, "int8_t", i) for i, table in enumerate(tables)),
            output_parameter(output),
        ),
        constants=tuple(tables),
    )


def _cost(bound: BoundOperator[ConcatenationAttributes], call: KernelCall) -> Cost:
    parts, blocks = call.values["parts"], call.values["blocks"]
    work = Work(alu=2, branch=1)
    for _, size, table in parts:
        each = Work(load=2 if table else 1, store=1, alu=1, branch=1)
        work += each * size + Work(alu=3, untaken=1)
    return Cost(work * blocks, 26 * len(parts) + 2 + 26 * (blocks > 1))


KERNEL = Kernel(operator="concatenation", supports=_supports, lower=_lower, cost=_cost)
