"""The logarithm of softmax over the last axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.log_softmax import log_softmax_int8, log_softmax_scaling
from uhost.numerics.softmax import MAX_DEPTH
from uhost.ops._checks import require
from uhost.ops._elementwise import (
    NoAttributes,
    arrays,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._op import Example, OperatorKind

OUTPUT = (1.0 / 16.0, 127)
"""The only quantisation that int8 writes."""


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(DType.FLOAT32, DType.INT8)(bound)
    source, output = bound.input(0), bound.output
    require(len(source.shape) >= 1, "softmax of a scalar")
    if source.dtype is DType.INT8:
        require(source.shape[-1] <= MAX_DEPTH, f"{source.shape[-1]} classes, more than {MAX_DEPTH}")
        require(
            (output.scale, output.zero_point) == OUTPUT,
            f"'{output.name}' has scale {output.scale:.9g} and zero point {output.zero_point}, "
            "not 1/16 and 127",
        )
        fits = 2.0**-25 < source.scale < 31.0
        require(fits, f"'{source.name}' has the scale {source.scale:.9g}")
    return found


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values = arrays(inputs)[0]
    if values.dtype == np.int8:
        return [log_softmax_int8(values, log_softmax_scaling(bound.input(0).scale))]
    distance = values - values.max(axis=-1, keepdims=True)
    # cumsum adds from the first element to the last, as the kernels do.
    total = np.cumsum(np.exp(distance), axis=-1, dtype=np.float32)[..., -1:]
    return [distance - np.log(total)]


def _examples() -> Iterator[Example]:
    yield example("log_softmax", "float32", DType.FLOAT32, ((3, 12),))
    cases = (("", 12, 0.1), ("_two", 2, 0.05), ("_long", 300, 0.02), ("_steep", 9, 2.0))
    for name, depth, scale in (*cases, ("_one", 1, 0.1), ("_flat", 40, 0.001)):
        yield example(
            "log_softmax",
            f"int8{name}",
            DType.INT8,
            ((8, depth),),
            scales=(scale,),
            output=OUTPUT,
        )


OPERATOR = OperatorKind(
    name="log_softmax",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"LOG_SOFTMAX": import_plain(1)}},
    examples=_examples,
    takes_uint8=True,
)
