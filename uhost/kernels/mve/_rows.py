"""Element-wise operators of two int8 tensors, row by row, with any broadcasting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall, Parameter
from uhost.kernels.reference._elements import shared_bytes
from uhost.kernels.reference._nest import (
    broadcast_strides,
    headers,
    index_expression,
    loop_nest,
    row_major_strides,
)
from uhost.numerics.fixed_point import activation_range
from uhost.ops._op import Activation
from uhost.targets._work import Work


@dataclass(frozen=True, slots=True)
class Rows:
    """How the output falls into rows, and which operand is one element for all of a row."""

    count: int
    length: int
    first_stands: bool
    second_stands: bool
    values: dict[str, Any]


def rows_of(bound: BoundOperator[Any]) -> Rows:
    """Returns the rows of any broadcast: the innermost loop of the nest over the output."""
    first, second, output = bound.input(0), bound.input(1), bound.output
    loops = loop_nest(
        output.shape,
        broadcast_strides(first.shape, output.shape),
        broadcast_strides(second.shape, output.shape),
        row_major_strides(output.shape),
    )
    outer, row = loops[:-1], loops[-1:]
    length = row[0].size if row else 1
    stands = tuple(bool(row) and row[0].strides[index] == 0 for index in (0, 1))
    values = {
        "loops": headers(outer),
        "first_index": index_expression(outer, 0),
        "second_index": index_expression(outer, 1),
        "output_index": index_expression(outer, 2),
        "length": length,
        "first_stands": stands[0],
        "second_stands": stands[1],
    }
    return Rows(output.elements // length, length, stands[0], stands[1], values)


def rows_call(
    template: str,
    bound: BoundOperator[Any],
    rows: Rows,
    activation: Activation,
    values: dict[str, Any],
) -> KernelCall:
    """Returns the call of a kernel that goes through the output row by row."""
    lowest, highest = activation_range(activation.bounds, bound.output)
    return KernelCall(
        library="mve",
        template=template,
        values={
            **rows.values,
            **values,
            "output_zero_point": bound.output.zero_point,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("first", "const int8_t *", "input", 0),
            Parameter("second", "const int8_t *", "input", 1),
            Parameter("output", "int8_t *", "output"),
        ),
        includes=("requantize",) if rows.first_stands or rows.second_stands else (),
        overlaps=shared_bytes(bound),
    )


def scaling_work(shift: int) -> Work:
    """Returns the work of the macro `scale` for a factor of `shift` bits to the left."""
    if shift > 0:
        return Work(vector_multiply=1, vector_alu=1)
    return Work(vector_multiply=1, vector_alu=3 if shift else 0)


def rows_work(rows: Rows, turn: Work, code_bytes: int, lanes: int = 4, begin: int = 12) -> Cost:
    """Returns the cost: `turn` for every `lanes` elements of a row; `begin` loads constants."""
    row = -(-rows.length // lanes) * turn + Work(vector_alu=2, branch=1)
    if rows.count > 1:
        row += Work(alu=7, branch=1)
    if rows.first_stands or rows.second_stands:
        row += Work(load=1, alu=6, multiply=1)
    around = Work(store_many=2, load_many=2, words=18, alu=begin, branch=1)
    return Cost(rows.count * row + around, code_bytes)
