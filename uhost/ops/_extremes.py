"""What MAXIMUM and MINIMUM share: raw numbers are compared, so all have one quantisation.

A NaN in the second input loses, one in the first stays out as well: a comparison with it is
false, and then the second input is taken. Source: TFLite, `maximum_minimum.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._elementwise import (
    QUANTIZED,
    Reference,
    arrays,
    binary_shapes,
    example,
    infer_elements,
    require_one_quantization,
)
from uhost.ops._op import Example

TYPES = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64)


def infer_extreme(bound: BoundOperator[Any]) -> Sequence[tuple[tuple[int, ...], DType]]:
    """Returns the broadcast shape after checking types and that quantisations are equal."""
    found = infer_elements(*TYPES)(bound)
    if bound.output.dtype in QUANTIZED:
        require_one_quantization(bound.output, bound.input(0), bound.input(1))
    return found


def take(which: Literal["max", "min"]) -> Reference:
    """Returns the reference that takes the larger or the smaller element."""

    def reference(bound: BoundOperator[Any], inputs: Sequence[Array | None]) -> Sequence[Array]:
        first, second = arrays(inputs)
        wins = first > second if which == "max" else first < second
        return [np.where(wins, first, second)]

    return reference


def extreme_examples(kind: str) -> Iterator[Example]:
    """Yields small cases of every type and kind of broadcasting."""
    for dtype in TYPES:
        for name, shapes in binary_shapes():
            one = (0.05, 0.05), (-7, -7)
            if dtype is DType.INT16:
                one = (0.0003, 0.0003), (0, 0)
            output = one[0][0], one[1][0]
            yield example(
                kind,
                f"{dtype}{name}",
                dtype,
                shapes,
                scales=one[0],
                zero_points=one[1],
                output=output,
            )


def extreme(rows: Array, which: Literal["max", "min"]) -> Array:
    """Returns the largest or smallest of each row, as a running comparison finds it."""
    best: Array = rows[..., 0]
    for index in range(1, rows.shape[-1]):
        other = rows[..., index]
        best = np.where(best > other if which == "max" else best < other, best, other)
    return best
