"""What RELU, RELU6 and RELU_N1_TO_1 share: requantisation, a clamp, and examples.

The factor s_in / s_out is formed in double, as TFLite Micro's wheel of October 2026 does;
its sources of August 2026, and LiteRT, form it in float32. RELU6 of TFLite Micro copies
integers where input and output are quantised differently; here they are rescaled.
RELU_N1_TO_1, which TFLite Micro lacks, follows LiteRT: its factor is formed in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    activation_range,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from uhost.ops._activation import clamp_float
from uhost.ops._checks import (
    require,
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_symmetric,
)
from uhost.ops._examples import quantized, real
from uhost.ops._op import Activation, Example, single


def infer_rectifier(bound: BoundOperator[Any]) -> Sequence[tuple[tuple[int, ...], DType]]:
    """Returns the input's shape and type after checking types and quantisation."""
    source, output = bound.input(0), bound.output
    require_dtype(source, DType.INT8, DType.INT16, DType.FLOAT32)
    require_same_dtype(source, output)
    if source.dtype is not DType.FLOAT32:
        require_quantized(source, output)
        require(
            math.isfinite(_factor(bound)),
            f"the scales {source.scale:.9g} and {output.scale:.9g} are too far apart",
        )
        require_symmetric(source, output)
    return [(source.shape, source.dtype)]


def rectifier_scaling(bound: BoundOperator[Any]) -> tuple[int, int]:
    """Returns multiplier and shift of s_in / s_out."""
    return quantize_multiplier(_factor(bound))


def _factor(bound: BoundOperator[Any]) -> float:
    if bound.kind == "relu_n1_to_1" or bound.attributes.unsigned:
        with np.errstate(over="ignore"):
            return float(np.float32(bound.input(0).scale) / np.float32(bound.output.scale))
    return bound.input(0).scale / bound.output.scale


def rectify(bound: BoundOperator[Any], values: Array, activation: Activation) -> Array:
    """Returns `values` in the output's quantisation, clamped to the activation's interval."""
    if values.dtype == np.float32:
        return clamp_float(values, activation)
    source, output = bound.input(0), bound.output
    offset = values.astype(np.int64) - source.zero_point
    scaled = multiply_by_quantized_multiplier(offset, *rectifier_scaling(bound))
    low, high = activation_range(activation.bounds, output)
    return np.clip(scaled + output.zero_point, low, high).astype(output.dtype.numpy)


def rectifier_examples(kind: str, attributes: Attributes) -> Iterator[Example]:
    """Yields small cases: equal and unequal quantisation, int16, float."""

    def case(
        name: str,
        shape: tuple[int, ...],
        source: tuple[float, int],
        output: tuple[float, int],
        dtype: DType = DType.INT8,
    ) -> Example:
        tensors = (
            quantized("input", shape, *source, dtype),
            quantized("output", shape, *output, dtype),
        )
        graph = single(name, kind, attributes, tensors[:1], tensors[1:])
        return Example(name, graph, (str(dtype),))

    shape = (2, 3, 17)
    yield case("int8", shape, (0.06, 11), (0.06, 11))
    yield case("int8_coarse", shape, (0.2, -20), (0.2, -20))
    yield case("int8_scalar", (), (0.1, 0), (0.1, 0))
    yield case("int8_requantize", shape, (0.07, 3), (0.0235, -128))
    yield case("int8_requantize_wider", (256,), (0.02, -5), (0.11, 100))
    yield case("int16", shape, (0.0003, 0), (0.0003, 0), DType.INT16)
    yield case("int16_requantize", (5, 100), (0.0003, 0), (0.00021, 0), DType.INT16)
    tensors = real("input", shape), real("output", shape)
    yield Example("float32", single("float32", kind, attributes, tensors[:1], tensors[1:]))
