"""What SELECT and SELECT_V2 share: the first of two elements where a condition holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from uhost.ir.dtype import COMPUTED, DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype, require_same_dtype
from uhost.ops._elementwise import (
    QUANTIZED,
    NoAttributes,
    arrays,
    broadcast,
    require_one_quantization,
)
from uhost.ops._examples import quantized
from uhost.ops._op import Example, single

TYPES = tuple(dtype for dtype in COMPUTED if dtype is not DType.UINT8)


def infer_select(bound: BoundOperator[Any]) -> Sequence[tuple[tuple[int, ...], DType]]:
    """Returns the broadcast shape after checking types and that quantisations are equal."""
    first = bound.input(1)
    require_dtype(bound.input(0), DType.BOOL)
    require_dtype(first, *TYPES)
    require_same_dtype(first, bound.input(2), bound.output)
    if first.dtype in QUANTIZED:
        require_one_quantization(bound.output, first, bound.input(2))
    return [(broadcast(bound), first.dtype)]


def select(bound: BoundOperator[Any], inputs: Sequence[Array | None]) -> Sequence[Array]:
    """Returns the selected elements."""
    condition, first, second = arrays(inputs)
    return [np.where(condition, first, second)]


def select_example(
    kind: str, name: str, dtype: DType, shapes: Sequence[tuple[int, ...]]
) -> Example:
    """Returns an example; the shapes are those of condition, first and second."""

    def tensor(label: str, shape: tuple[int, ...]) -> Tensor:
        if dtype in QUANTIZED:
            return quantized(label, shape, 0.05, 3 if dtype is DType.INT8 else 0, dtype)
        return Tensor(label, shape, dtype)

    condition = Tensor("condition", shapes[0], DType.BOOL)
    inputs = [condition, tensor("first", shapes[1]), tensor("second", shapes[2])]
    output = tensor("output", tuple(np.broadcast_shapes(*shapes)))
    return Example(name, single(name, kind, NoAttributes(), inputs, [output]), (str(dtype),))


def select_examples(kind: str) -> Iterator[Example]:
    """Yields cases of one shape for every type."""
    for dtype in TYPES:
        yield select_example(kind, str(dtype), dtype, [(3, 4, 5)] * 3)
