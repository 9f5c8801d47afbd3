"""What the six comparisons share: numbers of one type, and quantised ones in a common unit.

int8 is taken to units of 2^-8 by a fixed-point multiplication with its own scale, which
rounds, and compared there: numbers that lie closer than that are equal. Source: TFLite,
`comparisons.cc`, where scales of 1 and more end the program or give nonsense.

int16 is compared exactly, as the real numbers that it stands for. TFLite Micro has no other
comparison of int16 than a GREATER with parameters that nothing sets; LiteRT compares raw
numbers, which is the same where both scales are.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._checks import require
from uhost.ops._elementwise import (
    NoAttributes,
    arrays,
    binary_shapes,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._op import Example, OperatorKind

LEFT_SHIFT = 8
"""Bits that int8 numbers are shifted left by before they are scaled."""

_MOST_SHIFT = 13
"""Most bits to the left that a scale may take such a number of 17 bits."""

_TYPES = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64)
_COMPARE = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def comparison(name: str) -> OperatorKind[NoAttributes]:
    """Returns the operator of a comparison."""
    types = (*_TYPES, DType.BOOL) if name in ("equal", "not_equal") else _TYPES
    infer_types = infer_elements(*types, output=DType.BOOL)

    def infer(bound: BoundOperator[Any]) -> Sequence[tuple[tuple[int, ...], DType]]:
        found = infer_types(bound)
        for tensor in (bound.input(0), bound.input(1)):
            if tensor.dtype is DType.INT8:
                wide = quantize_multiplier(tensor.scale)[1] > _MOST_SHIFT
                require(not wide, f"'{tensor.name}' has the scale {tensor.scale:.9g}")
        if bound.input(0).dtype is DType.INT16:
            require(max(unit_factors(bound)) < 1 << 46, "the scales are too far apart")
        return found

    def reference(bound: BoundOperator[Any], inputs: Sequence[Array | None]) -> Sequence[Array]:
        first, second = arrays(inputs)
        if bound.input(0).dtype is DType.INT8:
            first, second = compared(bound.input(0), first), compared(bound.input(1), second)
        elif bound.input(0).dtype is DType.INT16:
            factors = unit_factors(bound)
            first, second = (
                values.astype(np.int64) * factor
                for values, factor in zip((first, second), factors, strict=True)
            )
        return [np.asarray(_COMPARE[name](first, second))]

    return OperatorKind(
        name=name,
        attributes=NoAttributes,
        infer=infer,
        reference=reference,
        importers={"tflite": {name.upper(): import_plain(2)}},
        examples=lambda: _examples(name, types),
        takes_uint8=True,
        folds_at_import=True,
    )


def unit_factors(bound: BoundOperator[Any]) -> tuple[int, int]:
    """Returns both scales of int16 inputs as integers in their largest common unit."""
    first, second = (Fraction(bound.input(index).scale) for index in (0, 1))
    ratio = first / second
    return ratio.numerator, ratio.denominator


def compared(tensor: Tensor, values: Array) -> NDArray[np.int64]:
    """Returns int8 `values` as the integers that are compared."""
    offset = (values.astype(np.int64) - tensor.zero_point) << LEFT_SHIFT
    return multiply_by_quantized_multiplier(offset, *quantize_multiplier(tensor.scale))


def _examples(kind: str, types: Sequence[DType]) -> Iterator[Example]:
    for dtype in types:
        for name, shapes in binary_shapes():
            scales = (0.0003, 0.0003) if dtype is DType.INT16 else None
            yield example(
                kind, f"{dtype}{name}", dtype, shapes, scales=scales, output_dtype=DType.BOOL
            )
        values = np.arange(-6, 6).reshape(3, 4).astype(dtype.numpy)
        # Random numbers of a wide type are hardly ever equal.
        yield example(
            kind,
            f"{dtype}_close",
            dtype,
            ((3, 4), (3, 4)),
            scales=(0.5, 0.5),
            zero_points=(0, 0),
            output_dtype=DType.BOOL,
            constants={1: values},
        )
    for number, scales in enumerate(((0.0005, 0.00015), (0.25, 0.0625))):
        shapes = ((8, 64), (8, 64))
        name = f"int16_scales_{number}"
        yield example(kind, name, DType.INT16, shapes, scales=scales, output_dtype=DType.BOOL)
    for scales in ((0.5, 0.5), (0.002, 0.002), (0.75, 0.0625)):
        yield example(
            kind,
            f"int8_scales_{scales[0]}".replace(".", "_"),
            DType.INT8,
            ((8, 64), (8, 64)),
            scales=scales,
            output_dtype=DType.BOOL,
        )
    yield example(
        kind,
        "int8_scale_above_1",
        DType.INT8,
        ((8, 64), (8, 64)),
        scales=(1.5, 2.0),
        output_dtype=DType.BOOL,
    )
