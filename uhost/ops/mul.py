"""Product of two tensors, element by element, with numpy broadcasting and a fused activation."""

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
from uhost.ops._factors import in_float32
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode, reads, single
from uhost.ops._rows import element_rows
from uhost.ops._tflite import check_counts, options_table

WHOLE = (DType.INT32, DType.INT64)
"""Types whose numbers stand for themselves; their products wrap."""
_TYPES = (DType.INT8, DType.INT16, *WHOLE, DType.FLOAT32)


@dataclass(frozen=True, slots=True)
class MulAttributes(Attributes):
    """What follows the multiplication.

    `unsigned`: the file's types are uint8, and the factor is formed as LiteRT does.
    """

    activation: Activation = Activation.NONE
    unsigned: bool = False


def mul_scaling(bound: BoundOperator[MulAttributes]) -> tuple[int, int]:
    """Returns multiplier and shift from products of elements to the output's scale.

    The factor is formed in double, for uint8 in float32. Source: TFLite Micro,
    `CalculateOpDataMul`; LiteRT, "mul.cc".
    """
    first, second, output = bound.input(0).scale, bound.input(1).scale, bound.output.scale
    if bound.attributes.unsigned:
        return quantize_multiplier(in_float32(first, second, output))
    return quantize_multiplier(first * second / output)


def _infer(bound: BoundOperator[MulAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    first, second, output = bound.input(0), bound.input(1), bound.output
    require_dtype(first, *_TYPES)
    require_dtype(second, *_TYPES)
    require_same_dtype(first, second, output)
    try:
        shape = np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        raise MalformedModelError(
            f"shapes {list(first.shape)} and {list(second.shape)} do not broadcast",
            where=f"operator '{bound.name}' (mul)",
        ) from None
    if first.dtype in (DType.INT8, DType.INT16):
        require_quantized(first, second, output)
        if first.dtype is DType.INT16:
            for tensor in (first, second, output):
                zero_point = tensor.zero_point
                require(zero_point == 0, f"'{tensor.name}' has the zero point {zero_point}, not 0")
    return [(tuple(shape), first.dtype)]


def _reference(
    bound: BoundOperator[MulAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    first, second = inputs[0], inputs[1]
    assert first is not None
    assert second is not None
    activation, output = bound.attributes.activation, bound.output
    if first.dtype == np.float32:
        return [clamp_float(first * second, activation)]
    if output.dtype in WHOLE:
        # numpy wraps, as registers do.
        return [np.clip(first * second, *activation.whole(output.dtype.limits))]
    products = (first.astype(np.int64) - bound.input(0).zero_point) * (
        second.astype(np.int64) - bound.input(1).zero_point
    )
    scaled = multiply_by_quantized_multiplier(products, *mul_scaling(bound)) + output.zero_point
    clamped = np.clip(scaled, *activation_range(activation.bounds, output))
    return [clamped.astype(output.dtype.numpy)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 2)
    options = options_table(node, "MulOptions")
    code = options.FusedActivationFunction() if options is not None else 0
    return Imported(MulAttributes(tflite_activation(code), node.from_uint8), inputs)


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        scales: tuple[float, float, float] = (0.05, 0.031, 0.07),
        zero_points: tuple[int, int, int] = (3, -11, 5),
        activation: Activation = Activation.NONE,
        dtype: DType = DType.INT8,
        constant: Array | None = None,
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
        graph = single(name, "mul", MulAttributes(activation), tensors[:2], tensors[2:])
        return Example(name, graph, (str(dtype),))

    same = (1, 3, 5, 7)
    yield case("int8", (same, same))
    yield case("int8_relu", (same, same), activation=Activation.RELU)
    yield case("int8_relu6", (same, same), (0.4, 0.5, 0.06), activation=Activation.RELU6)
    yield case("int8_zero_points", (same, same), (0.9, 0.0013, 0.4), (-128, 127, -100))
    yield case("int8_saturates", (same, same), (0.9, 0.8, 0.01), (0, 0, 0))
    yield case("int8_far_below", (same, same), (1e-4, 1e-5, 1.0))
    yield case("int8_gates_of_channels", ((2, 3, 4, 8), (2, 1, 1, 8)), (0.05, 1 / 256, 0.05))
    yield case("int8_per_channel", ((7,), same))
    yield case("int8_scalar", ((), (2, 3)))
    yield case("int8_both_broadcast", ((2, 1, 3, 1), (4, 1, 5)))
    yield case(
        "int8_constant", (same, (5, 1)), constant=np.array([[-128], [-1], [0], [64], [127]], "i1")
    )
    zeros = (0, 0, 0)
    yield case("int16", (same, same), (2e-4, 3e-4, 2e-3), zeros, dtype=DType.INT16)
    yield case("int16_relu", (same, (7,)), (2e-4, 3e-4, 1e-3), zeros, Activation.RELU, DType.INT16)
    yield case("int16_large", (same, same), (1.0, 2.0, 0.001), zeros, dtype=DType.INT16)

    def whole(
        name: str,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        dtype: DType,
        activation: Activation = Activation.NONE,
    ) -> Example:
        shape = tuple(np.broadcast_shapes(*shapes))
        inputs = [Tensor("first", shapes[0], dtype), Tensor("second", shapes[1], dtype)]
        output = Tensor("output", shape, dtype)
        graph = single(name, "mul", MulAttributes(activation), inputs, [output])
        return Example(name, graph, (str(dtype),))

    yield whole("int32", ((40,), ()), DType.INT32)
    yield whole("int32_relu6", ((2, 3), (2, 1)), DType.INT32, Activation.RELU6)
    yield whole("int64", ((4, 3), (4, 3)), DType.INT64)

    def floats(
        name: str,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        activation: Activation = Activation.NONE,
    ) -> Example:
        output = real("output", tuple(np.broadcast_shapes(*shapes)))
        inputs = [real("first", shapes[0]), real("second", shapes[1])]
        graph = single(name, "mul", MulAttributes(activation), inputs, [output])
        return Example(name, graph, ("float32",))

    yield floats("float32", ((2, 3, 5), (2, 3, 5)))
    yield floats("float32_relu6", ((3, 1, 4), (2, 1)), Activation.RELU6)
    yield floats("float32_relu_n1_to_1", ((6,), (6,)), Activation.RELU_N1_TO_1)


OPERATOR = OperatorKind(
    name="mul",
    attributes=MulAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"MUL": _import_tflite}},
    examples=_examples,
    rows=element_rows,
    is_channelwise=lambda bound: bound.input(0).shape == bound.input(1).shape,
    takes_uint8=True,
    by_litert=reads(DType.INT64),
)
