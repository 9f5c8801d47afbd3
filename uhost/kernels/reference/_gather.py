"""GATHER and its kin in portable C: a run of elements per index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._nest import headers, index_expression, loop_nest
from uhost.kernels.reference._parameters import input_parameter, output_parameter


@dataclass(frozen=True, slots=True)
class Rows:
    """output[b][o][k] = source[b][o][indices[b][k]], each of these `run` elements.

    `batches`, `outer` and `count` are the sizes of b, o and k; `size` indices are valid.
    """

    batches: int
    outer: int
    count: int
    size: int
    run: int


def lower_rows(
    bound: BoundOperator[Any], rows: Rows, source: int, indices: int, scale: float | None = None
) -> KernelCall:
    """Returns the call that takes rows of input `source` by the indices in input `indices`.

    With `scale`, they are int8 and become float32.
    """
    table = bound.input(indices)
    block = rows.size * rows.run
    loops = loop_nest(
        (rows.batches, rows.outer, rows.count),
        (rows.count, 0, 1),
        (rows.outer * block, block, 0),
        (rows.outer * rows.count * rows.run, rows.count * rows.run, rows.run),
    )
    values = {
        "loops": headers(loops),
        "index_at": index_expression(loops, 0),
        "source_at": index_expression(loops, 1),
        "output_at": index_expression(loops, 2),
        "last": rows.size - 1,
        "is_checked": not table.is_constant,
        "run": rows.run,
        "run_bytes": rows.run * bound.output.dtype.size_bytes,
        "scale": scale if scale is not None else 0.0,
        "is_scaled": scale is not None,
    }
    includes = ["clamp_index"] if not table.is_constant else []
    if rows.run > 1 and scale is None:
        includes.append("copy_run")
    return KernelCall(
        "reference",
        "gather",
        values,
        (
            input_parameter(bound.input(source), "input", source),
            input_parameter(table, "indices", indices),
            output_parameter(bound.output),
        ),
        includes=tuple(includes),
    )
