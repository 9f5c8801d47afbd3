"""The inverse square root of every element.

A quantised number of 0 gives the highest number, and so do negative ones, at which TFLite's
kernels end the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.numerics.inverse_square_root import inverse_square_root
from uhost.ops._checks import require
from uhost.ops._elementwise import (
    QUANTIZED,
    NoAttributes,
    arrays,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._op import Example, OperatorKind

FRACTION_BITS = 20
"""Bits behind the point of the inverse square root before it is scaled."""


def rsqrt_scaling(bound: BoundOperator[NoAttributes]) -> tuple[int, int]:
    """Returns multiplier and shift from the inverse root, in units of 2^-20, to the output.

    Source: TFLite Micro, `SetRsqrtOutputMultiplier`.
    """
    root = np.sqrt(np.float32(bound.input(0).scale)) * np.float32(bound.output.scale)
    multiplier, shift = quantize_multiplier(1.0 / float(root)) if root > 0 else (0, 0)
    return multiplier, shift - FRACTION_BITS


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(DType.FLOAT32, *QUANTIZED)(bound)
    if bound.output.dtype in QUANTIZED:
        multiplier, shift = rsqrt_scaling(bound)
        apart = f"the scales {bound.input(0).scale:.9g} and {bound.output.scale:.9g}"
        require(multiplier > 0 and shift <= 0, f"{apart} are too small")
    return found


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values = arrays(inputs)[0]
    if values.dtype == np.float32:
        with np.errstate(all="ignore"):
            return [np.asarray(np.float32(1.0) / np.sqrt(values))]
    multiplier, shift = inverse_square_root(values.astype(np.int64) - bound.input(0).zero_point)
    one = np.ones_like(multiplier)
    roots = multiply_by_quantized_multiplier(one, multiplier, shift + FRACTION_BITS)
    scaled = multiply_by_quantized_multiplier(roots, *rsqrt_scaling(bound))
    low, high = bound.output.dtype.limits
    result = np.clip(scaled + bound.output.zero_point, low, high)
    return [np.where(values <= bound.input(0).zero_point, high, result).astype(values.dtype)]


def _examples() -> Iterator[Example]:
    yield example("rsqrt", "float32", DType.FLOAT32, ((3, 50),))
    for name, zero, scale, output in (
        ("int8", -128, 0.02, (0.03, -128)),
        ("int8_coarse", -128, 0.9, (0.006, -100)),
        ("int8_negatives", 5, 0.1, (0.05, 3)),
    ):
        shape = ((2, 128),)
        yield example(
            "rsqrt", name, DType.INT8, shape, scales=(scale,), zero_points=(zero,), output=output
        )
    for name, scale, output in (("int16", 0.0003, (0.003, 0)), ("int16_fine", 2e-5, (0.02, 0))):
        yield example("rsqrt", name, DType.INT16, ((1000,),), scales=(scale,), output=output)


OPERATOR = OperatorKind(
    name="rsqrt",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"RSQRT": import_plain(1)}},
    examples=_examples,
    is_channelwise=lambda bound: True,
)
