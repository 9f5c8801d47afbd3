"""Difference of two tensors with numpy broadcasting and a fused activation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import activation_range, multiply_by_quantized_multiplier
from uhost.ops._activation import clamp_float
from uhost.ops._checks import require
from uhost.ops._common_scale import CommonScale, at_common_scale, common_scale
from uhost.ops._elementwise import (
    QUANTIZED,
    ActivationAttributes,
    arrays,
    binary_shapes,
    example,
    import_activation,
    infer_elements,
)
from uhost.ops._op import Activation, Example, OperatorKind, reads
from uhost.ops._rows import element_rows

LEFT_SHIFTS = {DType.INT8: 20, DType.INT16: 15}
"""Bits that quantised inputs are shifted left by before they are scaled."""


class SubAttributes(ActivationAttributes):
    """What follows the subtraction."""

    __slots__ = ()


def sub_scaling(bound: BoundOperator[SubAttributes]) -> CommonScale:
    """Returns the fixed-point scaling: that of ADD, every factor formed in double.

    Source: TFLite Micro, `CalculateOpDataSub`, at the version of October 2026.
    """
    return common_scale(bound, LEFT_SHIFTS[bound.output.dtype])


def _infer(bound: BoundOperator[SubAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    types = (*LEFT_SHIFTS, DType.INT32, DType.INT64, DType.FLOAT32)
    found = infer_elements(*types)(bound)
    if bound.output.dtype in QUANTIZED:
        multiplier, shift = sub_scaling(bound).output
        require(
            multiplier > 0 and shift <= 0,
            f"the output scale {bound.output.scale:.9g} is too far from the input scales",
        )
    return found


def _reference(
    bound: BoundOperator[SubAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    first, second = arrays(inputs)
    activation, output = bound.attributes.activation, bound.output
    if output.dtype is DType.FLOAT32:
        return [clamp_float(first - second, activation)]
    if output.dtype not in QUANTIZED:
        # numpy wraps, as registers do.
        return [np.clip(first - second, *activation.whole(output.dtype.limits))]
    scaling = sub_scaling(bound)
    a, b = at_common_scale(bound, scaling, first, second)
    result = multiply_by_quantized_multiplier(a - b, *scaling.output) + output.zero_point
    return [np.clip(result, *activation_range(activation.bounds, output)).astype(first.dtype)]


def _examples() -> Iterator[Example]:
    for dtype in (*LEFT_SHIFTS, DType.INT32, DType.INT64, DType.FLOAT32):
        for name, shapes in binary_shapes():
            yield example("sub", f"{dtype}{name}", dtype, shapes, SubAttributes())
        for activation in (Activation.RELU6, Activation.RELU_N1_TO_1):
            name = f"{dtype}_{activation}"
            yield example("sub", name, dtype, ((3, 7), (7,)), SubAttributes(activation))
    yield example(
        "sub",
        "int8_unequal",
        DType.INT8,
        ((4, 64), (4, 64)),
        SubAttributes(),
        scales=(0.9, 0.0013),
        zero_points=(-128, 127),
        output=(0.4, -100),
    )


OPERATOR = OperatorKind(
    name="sub",
    attributes=SubAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SUB": import_activation("SubOptions", SubAttributes)}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    folds_at_import=True,
    is_channelwise=lambda bound: bound.input(0).shape == bound.input(1).shape,
    by_litert=reads(DType.INT64),
)
