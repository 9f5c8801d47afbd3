"""Loop nests over tensors: as few loops as the strides allow, and index expressions.

Every operand of an element-wise or movement kernel walks the same axes with strides of
its own, 0 where it is broadcast. Two neighbouring axes that every operand crosses as one
become one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop: number of iterations, and the stride of each operand in elements."""

    size: int
    strides: tuple[int, ...]


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a dense tensor in elements."""
    strides = []
    stride = 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return tuple(reversed(strides))


def broadcast_strides(shape: Sequence[int], result: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a dense tensor of `shape` walked along `result`'s axes."""
    missing = len(result) - len(shape)
    strides = row_major_strides(shape)
    return (0,) * missing + tuple(
        0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)
    )


def loop_nest(shape: Sequence[int], *strides: Sequence[int]) -> tuple[Loop, ...]:
    """Returns the loops over `shape`, outermost first, none of one iteration.

    `strides` holds one sequence per operand, one stride per axis of `shape`.
    """
    loops: list[Loop] = []
    for size, *steps in zip(shape, *strides, strict=True):
        if size == 1:
            continue
        inner = Loop(size, tuple(steps))
        if loops and all(
            outer == step * size for outer, step in zip(loops[-1].strides, steps, strict=True)
        ):
            inner = Loop(loops.pop().size * size, inner.strides)
        loops.append(inner)
    return tuple(loops)


def index_expression(loops: Sequence[Loop], operand: int, offset: int = 0) -> str:
    """Returns the C expression of the operand's element: `i * 12 + j + 3`, or a number."""
    terms, taken = [], ""
    for number, loop in enumerate(loops):
        stride = loop.strides[operand]
        term = _variable(number) + (f" * {abs(stride)}" if abs(stride) != 1 else "")
        if stride > 0:
            terms.append(term)
        elif stride < 0:
            taken += f" - {term}"
    if offset or not terms:
        terms.append(str(offset))
    return " + ".join(terms) + taken


def headers(loops: Sequence[Loop], first: int = 0) -> tuple[tuple[str, int], ...]:
    """Returns the variable and the number of iterations of each loop.

    `first` counts the loops around them.
    """
    return tuple((_variable(first + number), loop.size) for number, loop in enumerate(loops))


def _variable(number: int) -> str:
    return "ijklmn"[number] if number < 6 else f"i{number}"


def plus(value: int) -> str:
    """Returns the C text that adds `value` to what stands before it: " + 5", " - 5" or ""."""
    return f" {'+' if value > 0 else '-'} {abs(value)}" if value else ""
