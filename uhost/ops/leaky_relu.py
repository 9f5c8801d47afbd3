"""Negative numbers are multiplied by a constant.

The factors s_in / s_out and alpha * s_in / s_out are formed in double, as TFLite Micro's
wheel of October 2026 does; its sources of August 2026, and LiteRT, form them in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._checks import require
from uhost.ops._elementwise import QUANTIZED, arrays, example, infer_elements
from uhost.ops._factors import in_float32
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._rows import element_rows
from uhost.ops._tflite import check_counts, options_table


@dataclass(frozen=True, slots=True)
class LeakyReluAttributes(Attributes):
    """`alpha` multiplies what is below zero; a float32 value.

    `unsigned`: the file's types are uint8, and factors are formed as LiteRT does.
    """

    alpha: float
    unsigned: bool = False


def leaky_scaling(
    bound: BoundOperator[LeakyReluAttributes],
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns multiplier and shift for numbers of zero and more, and for those below."""
    source, alpha, output = bound.input(0).scale, bound.attributes.alpha, bound.output.scale
    factor, leak = source / output, source * alpha / output
    if bound.attributes.unsigned:
        factor, leak = in_float32(source, 1.0, output), in_float32(source, alpha, output)
    return quantize_multiplier(factor), quantize_multiplier(leak)


def _infer(bound: BoundOperator[LeakyReluAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(DType.FLOAT32, *QUANTIZED)(bound)
    alpha = bound.attributes.alpha
    require(math.isfinite(alpha), f"alpha is {alpha:.9g}")
    if bound.output.dtype in QUANTIZED:
        factor = bound.input(0).scale / bound.output.scale
        near = math.isfinite(factor) and math.isfinite(factor * alpha)
        require(near, "the scales are too far apart")
    return found


def _reference(
    bound: BoundOperator[LeakyReluAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, source, output = arrays(inputs)[0], bound.input(0), bound.output
    if output.dtype is DType.FLOAT32:
        return [np.where(values > 0, values, values * np.float32(bound.attributes.alpha))]
    offset = values.astype(np.int64) - source.zero_point
    above, below = leaky_scaling(bound)
    scaled = np.where(
        offset >= 0,
        multiply_by_quantized_multiplier(offset, *above),
        multiply_by_quantized_multiplier(offset, *below),
    )
    low, high = output.dtype.limits
    return [np.clip(scaled + output.zero_point, low, high).astype(values.dtype)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 1)
    options = options_table(node, "LeakyReluOptions")
    alpha = float(np.float32(options.Alpha())) if options is not None else 0.0
    return Imported(LeakyReluAttributes(alpha, node.from_uint8), inputs)


def _examples() -> Iterator[Example]:
    def case(
        name: str,
        dtype: DType,
        alpha: float,
        source: tuple[float, int] = (1.0, 0),
        output: tuple[float, int] = (1.0, 0),
    ) -> Example:
        return example(
            "leaky_relu",
            name,
            dtype,
            ((4, 128),),
            LeakyReluAttributes(float(np.float32(alpha))),
            scales=(source[0],),
            zero_points=(source[1],),
            output=output,
        )

    yield case("float32", DType.FLOAT32, 0.2)
    yield case("float32_negative", DType.FLOAT32, -0.5)
    yield case("int8", DType.INT8, 0.1, (0.05, 3), (0.04, -20))
    yield case("int8_negative", DType.INT8, -0.3, (0.05, 3), (0.04, -20))
    yield case("int8_above_1", DType.INT8, 1.7, (0.05, 3), (0.08, 20))
    yield case("int8_no_leak", DType.INT8, 0.0, (0.05, -3), (0.05, -3))
    yield case("int16", DType.INT16, 0.3, (0.0003, 0), (0.0002, 0))
    yield case("int16_negative", DType.INT16, -0.3, (0.0003, 0), (0.0004, 0))
    yield case("int16_equal", DType.INT16, 0.01, (0.001, 0), (0.001, 0))


OPERATOR = OperatorKind(
    name="leaky_relu",
    attributes=LeakyReluAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"LEAKY_RELU": _import_tflite}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    is_channelwise=lambda bound: True,
)
