"""Every row along the last axis divided by the root of the sum of its squares.

int8 has the output scale 1/128 and the zero point 0. Source: TFLite Micro and LiteRT,
`l2_normalization.h`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier
from uhost.numerics.inverse_square_root import inverse_square_root
from uhost.ops._activation import tflite_activation
from uhost.ops._checks import require
from uhost.ops._elementwise import arrays, example, infer_elements
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import check_counts, options_table

OUTPUT_BITS = 7
_MOST = 1 << 15
"""Longest row of int8: the sum of its squares fits 32 bits."""


@dataclass(frozen=True, slots=True)
class L2NormalizationAttributes(Attributes):
    """`unsigned`: the file's types are uint8, which LiteRT scales more finely."""

    unsigned: bool = False


def _infer(
    bound: BoundOperator[L2NormalizationAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(DType.FLOAT32, DType.INT8)(bound)
    source, output = bound.input(0), bound.output
    require(len(source.shape) >= 1, "the norm of a scalar")
    if source.dtype is DType.INT8:
        require(source.shape[-1] <= _MOST, f"{source.shape[-1]} elements in a row")
        require(
            (output.scale, output.zero_point) == (2.0**-OUTPUT_BITS, 0),
            f"'{output.name}' has scale {output.scale:.9g} and zero point {output.zero_point}, "
            "not 1/128 and 0",
        )
    return found


def _reference(
    bound: BoundOperator[L2NormalizationAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values = arrays(inputs)[0]
    if values.dtype == np.float32:
        # cumsum adds from the first element to the last, as the kernels do.
        total = np.cumsum(values * values, axis=-1, dtype=np.float32)[..., -1:]
        return [values / np.maximum(np.sqrt(total), np.float32(1e-6))]
    offset = values.astype(np.int64) - bound.input(0).zero_point
    multiplier, shift = inverse_square_root((offset * offset).sum(axis=-1, keepdims=True))
    if bound.attributes.unsigned:
        scaled = multiply_by_quantized_multiplier(offset << OUTPUT_BITS, multiplier, shift)
    else:
        scaled = multiply_by_quantized_multiplier(offset, multiplier, shift + OUTPUT_BITS)
    return [np.clip(scaled, -128, 127).astype(np.int8)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 1)
    options = options_table(node, "L2NormOptions")
    activation = tflite_activation(options.FusedActivationFunction() if options else 0)
    require(activation is Activation.NONE, f"fused {activation}")
    return Imported(L2NormalizationAttributes(node.from_uint8), inputs)


def _examples() -> Iterator[Example]:
    plain = L2NormalizationAttributes()
    for name, shape in (("", (3, 4, 10)), ("_vector", (33,)), ("_one", (5, 1))):
        yield example("l2_normalization", f"float32{name}", DType.FLOAT32, (shape,), plain)
        for zero_point in (0, -128):
            yield example(
                "l2_normalization",
                f"int8{name}_{abs(zero_point)}",
                DType.INT8,
                (shape,),
                plain,
                zero_points=(zero_point,),
                output=(2.0**-OUTPUT_BITS, 0),
            )
    yield example(
        "l2_normalization",
        "uint8",
        DType.INT8,
        ((3, 4, 10),),
        L2NormalizationAttributes(unsigned=True),
        zero_points=(-128,),
        output=(2.0**-OUTPUT_BITS, 0),
    )
    yield example(
        "l2_normalization",
        "int8_long",
        DType.INT8,
        ((2, 9000),),
        plain,
        zero_points=(-128,),
        output=(2.0**-OUTPUT_BITS, 0),
    )


OPERATOR = OperatorKind(
    name="l2_normalization",
    attributes=L2NormalizationAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"L2_NORMALIZATION": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
)
