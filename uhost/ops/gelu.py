"""x times the normal distribution up to x, exact or by a tangent.

TFLite Micro has no such operator; int8 follows LiteRT's table, which is made in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._elementwise import arrays, example, infer_elements
from uhost.ops._float_table import through_float
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import check_counts, options_table


@dataclass(frozen=True, slots=True)
class GeluAttributes(Attributes):
    """`approximate`: by a tangent of x and its cube."""

    approximate: bool = False


def gelu(x: Array, approximate: bool) -> Array:
    """Returns the function of float32 values, each step rounded to float32."""
    f = np.float32
    if approximate:
        inner = f(math.sqrt(2.0 / math.pi)) * (x + f(0.044715) * x * x * x)
        made: Array = f(0.5) * x * (f(1) + np.tanh(inner))
        return made
    # The complement keeps digits where the distribution is near 0.
    flat = (x * f(-math.sqrt(0.5))).astype(np.float64).reshape(-1)
    tail = np.array([math.erfc(value) for value in flat.tolist()], np.float32)
    exact: Array = f(0.5) * x * tail.reshape(x.shape)
    return exact


def _reference(
    bound: BoundOperator[GeluAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, approximate = arrays(inputs)[0], bound.attributes.approximate
    if values.dtype == np.float32:
        return [gelu(values, approximate)]
    return [through_float(bound, values, lambda x: gelu(x, approximate))]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 1)
    options = options_table(node, "GeluOptions")
    return Imported(GeluAttributes(bool(options.Approximate()) if options else False), inputs)


def _examples() -> Iterator[Example]:
    for approximate in (False, True):
        at, name = GeluAttributes(approximate), "_approximate" * approximate
        yield example("gelu", f"float32{name}", DType.FLOAT32, ((3, 50),), at)
        for number, (scale, zero_point, output) in enumerate(
            ((0.05, 3, (0.04, -100)), (0.02, -10, (0.02, -60)))
        ):
            yield example(
                "gelu",
                f"int8_{number}{name}",
                DType.INT8,
                ((2, 128),),
                at,
                scales=(scale,),
                zero_points=(zero_point,),
                output=output,
            )


OPERATOR = OperatorKind(
    name="gelu",
    attributes=GeluAttributes,
    infer=infer_elements(DType.FLOAT32, DType.INT8),
    reference=_reference,
    importers={"tflite": {"GELU": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    is_channelwise=lambda bound: True,
    by_litert=lambda bound: True,
)
