"""Square of the difference of two tensors, with numpy broadcasting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier
from uhost.ops._checks import require
from uhost.ops._common_scale import CommonScale, at_common_scale, common_scale
from uhost.ops._elementwise import (
    QUANTIZED,
    NoAttributes,
    arrays,
    binary_shapes,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._op import Example, OperatorKind

LEFT_SHIFTS = {DType.INT8: 7, DType.INT16: 0}
"""Bits that quantised inputs are shifted left by before they are scaled."""


def difference_scaling(bound: BoundOperator[NoAttributes]) -> CommonScale:
    """Returns the fixed-point scaling. Source: TFLite Micro, `SquaredDifferencePrepare`."""
    return common_scale(bound, LEFT_SHIFTS[bound.output.dtype], 2)


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(*LEFT_SHIFTS, DType.INT32, DType.FLOAT32)(bound)
    if bound.output.dtype in QUANTIZED:
        multiplier, shift = difference_scaling(bound).output
        require(
            multiplier > 0 and shift <= 0,
            f"the output scale {bound.output.scale:.9g} is too far from the input scales",
        )
    return found


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    first, second = arrays(inputs)
    output = bound.output
    if output.dtype not in QUANTIZED:
        difference = first - second
        return [difference * difference]
    scaling = difference_scaling(bound)
    a, b = at_common_scale(bound, scaling, first, second)
    result = multiply_by_quantized_multiplier((a - b) ** 2, *scaling.output) + output.zero_point
    return [np.clip(result, *output.dtype.limits).astype(first.dtype)]


def _examples() -> Iterator[Example]:
    for dtype in (*LEFT_SHIFTS, DType.INT32, DType.FLOAT32):
        wide = (0.002, 0) if dtype is DType.INT16 else (0.12, -90)
        for name, shapes in binary_shapes():
            yield example("squared_difference", f"{dtype}{name}", dtype, shapes, output=wide)


OPERATOR = OperatorKind(
    name="squared_difference",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SQUARED_DIFFERENCE": import_plain(2)}},
    examples=_examples,
    is_channelwise=lambda bound: bound.input(0).shape == bound.input(1).shape,
)
