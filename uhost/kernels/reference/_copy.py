"""Operators that only move elements: loops that copy, from any strides to any strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall, Parameter
from uhost.kernels._overlap import Overlap, forward
from uhost.kernels.reference._nest import Loop, headers, index_expression, loop_nest
from uhost.kernels.reference._parameters import input_parameter

OUTPUT = -1
"""The `Piece.source` of what is copied within the output."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of `shape` from input number `source` to output number `target`.

    Starts and strides count elements; a stride may be negative, and 0 where elements repeat.
    """

    shape: tuple[int, ...]
    source_strides: tuple[int, ...]
    target_strides: tuple[int, ...]
    source_start: int = 0
    target_start: int = 0
    source: int = 0
    target: int = 0


def lower_copies(
    bound: BoundOperator[Any], pieces: Sequence[Piece], *, fill: int | float | None = None
) -> KernelCall:
    """Returns the call that copies the pieces, in order, after filling the output with `fill`.

    Elements that follow one another in both tensors are copied by words.
    """
    read = sorted({p.source for p in pieces} - {OUTPUT})
    several_in, several_out = len(read) > 1, len(bound.outputs) > 1
    size_bytes = bound.outputs[0].dtype.size_bytes
    parts = []
    for piece in pieces:
        loops, run = loops_and_run(piece)
        if piece.source == OUTPUT:
            source = "output"
        else:
            source = f"input{piece.source if several_in else ''}"
        parts.append(
            (
                headers(loops),
                f"output{piece.target if several_out else ''}",
                index_expression(loops, 1, piece.target_start),
                source,
                index_expression(loops, 0, piece.source_start),
                run * size_bytes if run > 1 else 0,
            )
        )
    sources = [input_parameter(bound.input(n), f"input{n if several_in else ''}", n) for n in read]
    targets = [
        Parameter(f"output{n if several_out else ''}", f"{tensor.dtype.c_type} *", "output", n)
        for n, tensor in enumerate(bound.outputs)
    ]
    values: dict[str, Any] = {"parts": tuple(parts), "fills": 0}
    if fill is not None:
        is_float = bound.output.dtype is DType.FLOAT32
        value = float(fill) if is_float else int(fill)
        values |= {"fills": bound.output.elements, "value": value, "is_float": is_float}
    overlaps: tuple[Overlap, ...] = ()
    if len(pieces) == 1 and fill is None and not several_out:
        overlaps = (_overlap(pieces[0], size_bytes),)
    includes = ("copy_run",) if any(part[-1] for part in parts) else ()
    return KernelCall(
        "reference", "copy", values, (*sources, *targets), includes=includes, overlaps=overlaps
    )


def loops_and_run(piece: Piece) -> tuple[tuple[Loop, ...], int]:
    """Returns the loops around runs of elements that follow one another, and a run's length."""
    loops = loop_nest(piece.shape, piece.source_strides, piece.target_strides)
    if loops and loops[-1].strides == (1, 1):
        return loops[:-1], loops[-1].size
    return loops, 1


def _overlap(piece: Piece, size_bytes: int) -> Overlap:
    """Returns how far the output may run into the input: runs are copied in ascending order."""
    loops, run = loops_and_run(piece)
    reads = _starts(loops, 0, piece.source_start) * size_bytes
    writes = _starts(loops, 1, piece.target_start) * size_bytes
    between = forward(piece.source, reads, writes + run * size_bytes)
    if run == 1:
        return between
    within = int((writes - reads).max())
    return Overlap(piece.source, within if between.least is None else max(within, between.least))


def _starts(loops: Sequence[Loop], operand: int, start: int) -> NDArray[np.int64]:
    """Returns the operand's index in every iteration, in their order."""
    indices = np.array([start], np.int64)
    for loop in loops:
        steps = np.arange(loop.size, dtype=np.int64) * loop.strides[operand]
        indices = (indices[:, None] + steps).reshape(-1)
    return indices
