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
from uhost.ops._checks import require, require_dtype, require_quantized, require_same_dtype
from uhost.ops._examples import quantized, real
from uhost.ops._interval import elementwise
from uhost.ops._op import (
    Activation,
    Example,
    Imported,
    OperatorKind,
    SourceNode,
    single,
)
from uhost.ops._tflite import check_counts, options_table

INPUT_LEFT_SHIFT = 20
"""Bits that int8 inputs are shifted left by before they are scaled."""


@dataclass(frozen=True, slots=True)
class AddAttributes(Attributes):
    """What follows the addition."""

    activation: Activation = Activation.NONE


@dataclass(frozen=True, slots=True)
class AddScaling:
    """Multipliers and shifts (both ≤ 0 bits to the left) of an int8 addition."""

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
        quantize_multiplier(twice_larger / ((1 << INPUT_LEFT_SHIFT) * output)),
    )


def _infer(bound: BoundOperator[AddAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    first, second, output = bound.input(0), bound.input(1), bound.output
    require_dtype(first, DType.INT8, DType.FLOAT32)
    require_dtype(second, DType.INT8, DType.FLOAT32)
    require_same_dtype(first, second, output)
    try:
        shape = np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        raise MalformedModelError(
            f"shapes {list(first.shape)} and {list(second.shape)} do not broadcast",
            where=f"operator '{bound.name}' (add)",
        ) from None
    if first.dtype is DType.INT8:
        require_quantized(first, second, output)
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
    if first.dtype == np.float32:
        return [clamp_float(first + second, bound.attributes.activation)]
    scaling = add_scaling(bound)

    def scaled(values: Array, tensor: Tensor, factor: tuple[int, int]) -> Array:
        offset = (values.astype(np.int64) - tensor.zero_point) << INPUT_LEFT_SHIFT
        return multiply_by_quantized_multiplier(offset, *factor)

    total = scaled(first, bound.input(0), scaling.first) + scaled(
        second, bound.input(1), scaling.second
    )
    output, bounds = bound.output, bound.attributes.activation.bounds
    result = multiply_by_quantized_multiplier(total, *scaling.output) + output.zero_point
    return [np.clip(result, *activation_range(bounds, output)).astype(np.int8)]


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
    ) -> Example:
        tensors = [
            quantized(label, shape, scale, zero)
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
        return Example(name, graph, ("int8",))

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

    def floats(
        name: str,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        activation: Activation = Activation.NONE,
    ) -> Example:
        output = real("output", tuple(np.broadcast_shapes(*shapes)))
        inputs = [real("first", shapes[0]), real("second", shapes[1])]
        graph = single(name, "add", AddAttributes(activation), inputs, [output])
        return Example(name, graph, ("float32",))

    yield floats("float32", ((2, 3, 5), (2, 3, 5)))
    yield floats("float32_relu6", ((3, 1, 4), (2, 1)), Activation.RELU6)
    yield floats("float32_relu_n1_to_1", ((6,), (6,)), Activation.RELU_N1_TO_1)


OPERATOR = OperatorKind(
    name="add",
    attributes=AddAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"ADD": _import_tflite}},
    examples=_examples,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: bound.input(0).shape == bound.input(1).shape,
)
