"""Addition of two tensors with numpy broadcasting and a fused activation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fixed_point import (
    activation_range,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from uhost.ops._activation import clamp_float, tflite_activation
from uhost.ops._checks import (
    require,
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_symmetric,
)
from uhost.ops._examples import quantized
from uhost.ops._interval import elementwise
from uhost.ops._op import (
    Activation,
    Example,
    Imported,
    OperatorKind,
    SourceNode,
    reads,
    single,
)
from uhost.ops._rows import element_rows
from uhost.ops._tflite import check_counts, options_table

INPUT_LEFT_SHIFT = 20
"""Bits that int8 inputs are shifted left by before they are scaled."""

_LEFT_SHIFTS = {DType.INT8: INPUT_LEFT_SHIFT, DType.INT16: 15}


def left_shift(bound: BoundOperator[AddAttributes]) -> int:
    """Returns the bits that quantised inputs are shifted left by before they are scaled."""
    return _LEFT_SHIFTS[bound.output.dtype]


@dataclass(frozen=True, slots=True)
class AddAttributes(Attributes):
    """What follows the addition."""

    activation: Activation = Activation.NONE


@dataclass(frozen=True, slots=True)
class AddScaling:
    """Multipliers and shifts (both ≤ 0 bits to the left) of a quantised addition."""

    first: tuple[int, int]
    second: tuple[int, int]
    output: tuple[int, int]


def add_scaling(bound: BoundOperator[AddAttributes]) -> AddScaling:
    """Returns the fixed-point scaling: inputs to twice the larger scale, the sum to the output's.

    All factors are formed in double. Source: TFLite Micro, `CalculateOpDataAdd`.
    """
    first, second, output = bound.input(0).scale, bound.input(1).scale, bound.output.scale
    twice_larger = 2.0 * max(first, second)
    return AddScaling(
        quantize_multiplier(first / twice_larger),
        quantize_multiplier(second / twice_larger),
        quantize_multiplier(twice_larger / ((1 << left_shift(bound)) * output)),
    )


def _infer(bound: BoundOperator[AddAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    first, second, output = bound.input(0), bound.input(1), bound.output
    require_dtype(first, *_LEFT_SHIFTS, DType.INT32, DType.INT64, DType.FLOAT32)
    require_same_dtype(first, second, output)
    require_dtype(second, first.dtype)
    try:
        shape = np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        raise MalformedModelError(
            f"shapes {list(first.shape)} and {list(second.shape)} do not broadcast",
            where=f"operator '{bound.name}' (add)",
        ) from None
    if first.dtype in _LEFT_SHIFTS:
        require_quantized(first, second, output)
        require_symmetric(first, second, output)
        multiplier, shift = add_scaling(bound).output
        require(
            multiplier > 0 and shift <= 0,
            f"the output scale {output.scale:.9g} is too far from the input scales",
        )
    return [(tuple(shape), first.dtype)]


def _reference(
    bound: BoundOperator[AddAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    first, second = inputs[0], inputs[1]
    assert first is not None
    assert second is not None
    activation = bound.attributes.activation
    if first.dtype == np.float32:
        return [clamp_float(first + second, activation)]
    if bound.output.dtype not in _LEFT_SHIFTS:
        # numpy wraps, as registers do.
        return [np.clip(first + second, *activation.whole(bound.output.dtype.limits))]
    scaling = add_scaling(bound)

    def scaled(values: Array, tensor: Tensor, factor: tuple[int, int]) -> Array:
        offset = (values.astype(np.int64) - tensor.zero_point) << left_shift(bound)
        return multiply_by_quantized_multiplier(offset, *factor)

    total = scaled(first, bound.input(0), scaling.first) + scaled(
        second, bound.input(1), scaling.second
    )
    output, bounds = bound.output, activation.bounds
    result = multiply_by_quantized_multiplier(total, *scaling.output) + output.zero_point
    return [np.clip(result, *activation_range(bounds, output)).astype(output.dtype.numpy)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 2)
    options = options_table(node, "AddOptions")
    code = options.FusedActivationFunction() if options is not None else 0
    return Imported(AddAttributes(tflite_activation(code)), inputs)


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        scales: tuple[float, float, float] = (0.05, 0.031, 0.07),
        zero_points: tuple[int, int, int] = (3, -11, 5),
        activation: Activation = Activation.NONE,
        constant: Array | None = None,
        dtype: DType = DType.INT8,
    ) -> Example:
        tensors = [
            quantized(label, shape, scale, zero, dtype)
            for label, shape, scale, zero in zip(
                ("first", "second", "output"),
                (*shapes, np.broadcast_shapes(*shapes)),
                scales,
                zero_points,
                strict=True,
            )
        ]
        if constant is not None:
            tensors[1] = quantized("second", shapes[1], scales[1], zero_points[1], values=constant)
        graph = single(name, "add", AddAttributes(activation), tensors[:2], tensors[2:])
        return Example(name, graph, (str(dtype),))

    same = (1, 3, 5, 7)
    yield case("int8", (same, same))
    yield case("int8_relu", (same, same), activation=Activation.RELU)
    yield case("int8_relu6", (same, same), (0.1, 0.05, 0.06), activation=Activation.RELU6)
    yield case("int8_unequal_scales", (same, same), (0.9, 0.0013, 0.4), (-128, 127, -100))
    yield case("int8_saturates", (same, same), (0.5, 0.5, 0.01), (0, 0, 0))
    yield case("int8_per_channel", (same, (7,)))
    yield case("int8_scalar", ((), (2, 3)))
    yield case("int8_both_broadcast", ((2, 1, 3, 1), (4, 1, 5)))
    yield case("int8_rank_5", ((2, 3, 1, 2, 4), (1, 3, 5, 1, 4)))
    yield case(
        "int8_constant", (same, (5, 1)), constant=np.array([[-128], [-1], [0], [64], [127]], "i1")
    )

    wide, zeros = DType.INT16, (0, 0, 0)
    yield case("int16", (same, same), (0.0003, 0.00021, 0.0004), zeros, dtype=wide)
    yield case(
        "int16_saturates",
        (same, (7,)),
        (0.3, 0.3, 0.01),
        zeros,
        Activation.RELU_N1_TO_1,
        dtype=wide,
    )

    def plain(
        name: str,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        activation: Activation = Activation.NONE,
        dtype: DType = DType.FLOAT32,
    ) -> Example:
        output = Tensor("output", tuple(np.broadcast_shapes(*shapes)), dtype)
        inputs = [Tensor("first", shapes[0], dtype), Tensor("second", shapes[1], dtype)]
        graph = single(name, "add", AddAttributes(activation), inputs, [output])
        return Example(name, graph, (str(dtype),))

    yield plain("float32", ((2, 3, 5), (2, 3, 5)))
    yield plain("float32_relu6", ((3, 1, 4), (2, 1)), Activation.RELU6)
    yield plain("float32_relu_n1_to_1", ((6,), (6,)), Activation.RELU_N1_TO_1)
    yield plain("int32", ((2, 3, 5), (5,)), dtype=DType.INT32)
    yield plain("int32_relu6", ((6,), (6,)), Activation.RELU6, DType.INT32)
    yield plain("int64", ((4, 3), (4, 3)), dtype=DType.INT64)


OPERATOR = OperatorKind(
    name="add",
    attributes=AddAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"ADD": _import_tflite}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: bound.input(0).shape == bound.input(1).shape,
    by_litert=reads(DType.INT64),
)
