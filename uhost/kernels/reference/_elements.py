"""Operators that compute each output element of one element of every input, by an expression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.kernels._kernel import Constant, KernelCall
from uhost.kernels._overlap import Overlap, by_element
from uhost.kernels.reference._nest import (
    broadcast_strides,
    headers,
    index_expression,
    loop_nest,
    plus,
    row_major_strides,
)
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
)
from uhost.ops._op import Activation


@dataclass(frozen=True, slots=True)
class Expression:
    """C for one element: lines that come first, and the value that is stored.

    The inputs' elements are `x`, or `a`, `b`, `c` where there are several. `tables` are
    constants that it reads under their names.
    """

    result: str
    statements: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    tables: tuple[Constant, ...] = ()


def lower_elements(
    bound: BoundOperator[Any],
    expression: Expression,
    shapes: Sequence[tuple[int, ...]] | None = None,
) -> KernelCall:
    """Returns the call of the loops around `expression`.

    `shapes` are the inputs' shapes where they broadcast as others than they are.
    """
    sources = [bound.input(index) for index in range(len(bound.inputs))]
    output = bound.output
    walked = shapes or [tensor.shape for tensor in sources]
    loops = loop_nest(
        output.shape,
        *(broadcast_strides(shape, output.shape) for shape in walked),
        row_major_strides(output.shape),
    )
    single = len(sources) == 1
    arrays = ["input"] if single else [f"input{index}" for index in range(len(sources))]
    names = "x" if single else "abcdefgh"
    operands = tuple(
        (tensor.dtype.c_type, names[index], f"{arrays[index]}[{index_expression(loops, index)}]")
        for index, tensor in enumerate(sources)
    )
    values: dict[str, Any] = {
        "loops": headers(loops),
        "operands": operands,
        "statements": expression.statements,
        "result": expression.result,
        "target": f"output[{index_expression(loops, len(sources))}]",
    }
    parameters = [input_parameter(t, arrays[i], i) for i, t in enumerate(sources)]
    tables = [
        constant_parameter(table.role, f"{table.values.dtype}_t", number)
        for number, table in enumerate(expression.tables)
    ]
    return KernelCall(
        "reference",
        "elements",
        values,
        (*parameters, *tables, output_parameter(output)),
        constants=expression.tables,
        includes=expression.includes,
        overlaps=shared_bytes(bound),
    )


def shared_bytes(bound: BoundOperator[Any]) -> tuple[Overlap, ...]:
    """Returns where inputs may lie under the output of an element-wise kernel.

    An input that is broadcast is read again. C lets a compiler take a wider element of
    another type for one that no store through the output changes.
    """
    output = bound.output
    return tuple(
        by_element(bound, index)
        for index, tensor in enumerate(bound.inputs)
        if tensor is not None
        and tensor.elements == output.elements
        and (tensor.dtype is output.dtype or DType.INT8 in (tensor.dtype, output.dtype))
    )


def scaled(value: str, factor: tuple[int, int]) -> str:
    """Returns the C of `value` times multiplier and shift."""
    return f"uhost_multiply_by_quantized_multiplier({value}, {factor[0]}, {factor[1]})"


def centred(name: str, tensor: Tensor) -> str:
    """Returns the C of an element less its zero point, in parentheses where it needs them."""
    return f"({name}{plus(-tensor.zero_point)})" if tensor.zero_point else name


def quantized_result(value: str, output: Tensor, limits: tuple[int, int] | None = None) -> str:
    """Returns the C of `value` plus the output's zero point, clamped to its type or `limits`."""
    low, high = limits or output.dtype.limits
    return f"({output.dtype.c_type})uhost_clamp({value}{plus(output.zero_point)}, {low}, {high})"


def activated(activation: Activation, output: Tensor, name: str) -> tuple[str, ...]:
    """Returns the lines that clamp an unquantised number `name`; a NaN stays."""
    ends: list[tuple[str, str]] = []
    if output.dtype is DType.FLOAT32:
        low, high = activation.bounds
        if math.isfinite(low):
            ends.append(("<", f"{low}f"))
        if math.isfinite(high):
            ends.append((">", f"{high}f"))
    else:
        limits = output.dtype.limits
        least, most = activation.whole(limits)
        if least > limits[0]:
            ends.append(("<", str(least)))
        if most < limits[1]:
            ends.append((">", str(most)))
    return tuple(f"{name} = {name} {sign} {end} ? {end} : {name};" for sign, end in ends)
