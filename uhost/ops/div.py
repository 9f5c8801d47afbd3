"""Quotient of two tensors with numpy broadcasting and a fused activation.

What TFLite's kernels leave undefined or end the run at is defined: an integer divided by 0
is 0, a quantised number the end of the type that has the dividend's sign, and the lowest
integer divided by -1 the highest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    activation_range,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    saturating_rounding_doubling_high_multiply,
)
from uhost.numerics.softmax import reciprocal_of_one_plus
from uhost.ops._activation import clamp_float, tflite_activation
from uhost.ops._checks import require
from uhost.ops._elementwise import (
    ActivationAttributes,
    arrays,
    binary_shapes,
    example,
    infer_elements,
)
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import check_counts, options_table

BEYOND_BITS = 20
"""A quotient by 0 is so many bits long: beyond every end, and far from that of 32 bits."""


@dataclass(frozen=True, slots=True)
class DivAttributes(ActivationAttributes):
    """What follows the division.

    `unsigned`: the file's types are uint8, and the factor is formed as LiteRT does.
    """

    unsigned: bool = False


def div_scaling(bound: BoundOperator[DivAttributes]) -> tuple[int, int]:
    """Returns multiplier and shift from quotients of elements to the output's scale.

    The factor is formed in double, for uint8 in float32. Source: TFLite Micro,
    `CalculateOpDataDiv`, October 2026; LiteRT, "div.cc".
    """
    if bound.attributes.unsigned:
        product = np.float32(bound.input(1).scale) * np.float32(bound.output.scale)
        return quantize_multiplier(float(np.float32(bound.input(0).scale) / product))
    return quantize_multiplier(bound.input(0).scale / (bound.input(1).scale * bound.output.scale))


def reciprocal(divisor: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns 1 / divisor as (Q0.31 number, bits to shift it right by); divisor is positive.

    Source: TFLite, `GetReciprocal`.
    """
    length = np.frexp(divisor.astype(np.float64))[1].astype(np.int64)
    fraction = (divisor << (32 - length)) - (1 << 31)
    return reciprocal_of_one_plus(fraction), length - 1


def _infer(bound: BoundOperator[DivAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(DType.INT8, DType.INT32, DType.FLOAT32)(bound)
    if bound.output.dtype is DType.INT8:
        multiplier, shift = div_scaling(bound)
        require(
            multiplier > 0 and shift <= 22,
            f"the output scale {bound.output.scale:.9g} is too far from the input scales",
        )
    return found


def _reference(
    bound: BoundOperator[DivAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    first, second = arrays(inputs)
    activation, output = bound.attributes.activation, bound.output
    if output.dtype is DType.FLOAT32:
        with np.errstate(all="ignore"):
            return [clamp_float(first / second, activation)]
    if output.dtype is DType.INT32:
        a, b = first.astype(np.int64), second.astype(np.int64)
        sign = np.sign(a) * np.sign(b)
        quotient = sign * (np.abs(a) // np.maximum(np.abs(b), 1))
        return [np.clip(quotient, *activation.whole(output.dtype.limits)).astype(np.int32)]
    a = first.astype(np.int64) - bound.input(0).zero_point
    b = second.astype(np.int64) - bound.input(1).zero_point
    a, b = np.where(b < 0, -a, a), np.abs(b)
    inverse, bits = reciprocal(np.maximum(b, 1))
    # The dividend is shifted left as far as its sign allows.
    room = 31 - np.frexp(np.where(a < 0, -a - 1, a).astype(np.float64))[1].astype(np.int64)
    quotient = saturating_rounding_doubling_high_multiply(a << room, inverse)
    multiplier, shift = div_scaling(bound)
    scaled = multiply_by_quantized_multiplier(quotient, multiplier, shift - bits - room)
    low, high = activation_range(activation.bounds, output)
    scaled = np.where(b == 0, np.sign(a) << BEYOND_BITS, scaled)
    return [np.clip(scaled + output.zero_point, low, high).astype(np.int8)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 2)
    options = options_table(node, "DivOptions")
    code = options.FusedActivationFunction() if options is not None else 0
    return Imported(DivAttributes(tflite_activation(code), node.from_uint8), inputs)


def _examples() -> Iterator[Example]:
    random = np.random.default_rng(3)
    for dtype in (DType.INT8, DType.INT32, DType.FLOAT32):
        for name, shapes in binary_shapes():
            divisors = random.normal(0.0, 40.0, shapes[1]).round().clip(-100, 100)
            # With the zero point -11 of int8 none of these divides by 0.
            refused = (-11,) if dtype is DType.INT8 else (-1, 0)
            divisors = np.where(np.isin(divisors, refused), 5, divisors)
            constants = {1: divisors.astype(dtype.numpy)}
            yield example(
                "div",
                f"{dtype}{name}",
                dtype,
                shapes,
                DivAttributes(),
                output=(0.03, 4),
                constants=constants,
            )
    for activation in (Activation.RELU6, Activation.RELU_N1_TO_1):
        shapes, name = ((3, 7), (7,)), f"float32_{activation}"
        yield example("div", name, DType.FLOAT32, shapes, DivAttributes(activation))
    for name, divisor in (("zero", 0), ("lowest", -1)):
        yield example(
            "div",
            f"int32_{name}",
            DType.INT32,
            ((9,), ()),
            DivAttributes(),
            constants={1: np.array(divisor, np.int32)},
        )
    every = np.arange(-128, 128, dtype=np.int8)
    for name, scales, output in (
        ("", (0.05, 0.031), (0.005, 0)),
        ("_far", (0.9, 0.002), (2.0, -3)),
        ("_near", (0.001, 0.9), (0.002, 10)),
    ):
        yield example(
            "div",
            f"int8_every{name}",
            DType.INT8,
            ((32, 1), (255,)),
            DivAttributes(),
            scales=scales,
            output=output,
            constants={1: every[every != -11]},
        )
    yield example("div", "int8_zero", DType.INT8, ((8, 256), (256,)), DivAttributes())


OPERATOR = OperatorKind(
    name="div",
    attributes=DivAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"DIV": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    folds_at_import=True,
    is_channelwise=lambda bound: bound.input(0).shape == bound.input(1).shape,
)
