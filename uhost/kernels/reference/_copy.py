"""Operators that only move elements: loops that copy, from any strides to any strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import KernelCall, Parameter
from uhost.kernels.reference._nest import headers, index_expression, loop_nest
from uhost.kernels.reference._parameters import input_parameter


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of `shape` from input number `source` to output number `target`.

    Starts and strides count elements; a stride may be negative.
    """

    shape: tuple[int, ...]
    source_strides: tuple[int, ...]
    target_strides: tuple[int, ...]
    source_start: int = 0
    target_start: int = 0
    source: int = 0
    target: int = 0


def lower_copies(bound: BoundOperator[Any], pieces: Sequence[Piece]) -> KernelCall:
    """Returns the call that copies the pieces, in order."""
    several_in, several_out = len({p.source for p in pieces}) > 1, len(bound.outputs) > 1
    parts = []
    for piece in pieces:
        loops = loop_nest(piece.shape, piece.source_strides, piece.target_strides)
        parts.append(
            (
                headers(loops),
                f"output{piece.target if several_out else ''}",
                index_expression(loops, 1, piece.target_start),
                f"input{piece.source if several_in else ''}",
                index_expression(loops, 0, piece.source_start),
            )
        )
    sources = [
        input_parameter(bound.input(n), f"input{n if several_in else ''}", n)
        for n in sorted({p.source for p in pieces})
    ]
    targets = [
        Parameter(f"output{n if several_out else ''}", f"{tensor.dtype.c_type} *", "output", n)
        for n, tensor in enumerate(bound.outputs)
    ]
    return KernelCall("reference", "copy", {"parts": tuple(parts)}, (*sources, *targets))
