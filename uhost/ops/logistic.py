"""The logistic function 1 / (1 + exp(-x))."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.logistic import logistic_int8, logistic_int16, logistic_int16_factor
from uhost.ops._checks import require, require_dtype, require_quantized, require_same_dtype
from uhost.ops._examples import quantized, real
from uhost.ops._interval import elementwise
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._rows import element_rows
from uhost.ops._tflite import check_counts

_OUTPUTS = {DType.INT8: (2.0**-8, -128), DType.INT16: (2.0**-15, 0)}


@dataclass(frozen=True, slots=True)
class LogisticAttributes(Attributes):
    """Nothing to choose."""


def _infer(bound: BoundOperator[LogisticAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, output = bound.input(0), bound.output
    require_dtype(source, DType.INT8, DType.INT16, DType.FLOAT32)
    require_same_dtype(source, output)
    if source.dtype in _OUTPUTS:
        require_quantized(source, output)
        scale, zero_point = _OUTPUTS[source.dtype]
        require(
            (output.scale, output.zero_point) == (scale, zero_point),
            f"'{output.name}' has scale {output.scale:.9g} and zero point {output.zero_point}, "
            f"not {scale:.9g} and {zero_point}",
        )
    if source.dtype is DType.INT8:
        require(source.scale > 2.0**-27, f"'{source.name}' has the scale {source.scale:.9g}")
    if source.dtype is DType.INT16:
        require(source.zero_point == 0, f"'{source.name}' has a zero point")
        multiplier, _ = logistic_int16_factor(source.scale)
        require(multiplier < 2**16, f"'{source.name}' has the scale {source.scale:.9g}")
    return [(source.shape, source.dtype)]


def _reference(
    bound: BoundOperator[LogisticAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, source = inputs[0], bound.input(0)
    assert values is not None
    if source.dtype is DType.FLOAT32:
        # Exponentials of negative numbers alone cannot overflow.
        small = np.exp(-np.abs(values))
        one = np.float32(1.0)
        return [np.where(values < 0, small / (one + small), one / (one + small))]
    if source.dtype is DType.INT8:
        shifted = values.astype(np.int64) - source.zero_point
        return [logistic_int8(shifted, source.scale).astype(np.int8)]
    return [logistic_int16(values, *logistic_int16_factor(source.scale)).astype(np.int16)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(LogisticAttributes(), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    def case(name: str, dtype: DType, scale: float, zero_point: int = 0) -> Example:
        shape = (4, 64) if dtype is DType.INT8 else (3, 700)
        tensors = (
            quantized("input", shape, scale, zero_point, dtype),
            quantized("output", shape, *_OUTPUTS[dtype], dtype),
        )
        graph = single(name, "logistic", LogisticAttributes(), tensors[:1], tensors[1:])
        return Example(name, graph, (str(dtype),))

    yield case("int8", DType.INT8, 0.08, 11)
    yield case("int8_saturating", DType.INT8, 1.7, -100)
    yield case("int8_fine", DType.INT8, 0.0004, 3)
    yield case("int16_q3_12", DType.INT16, 2.0**-12)
    yield case("int16", DType.INT16, 0.00031)
    yield case("int16_coarse", DType.INT16, 0.9)
    yield case("int16_fine", DType.INT16, 3e-7)
    floats = real("input", (3, 50)), real("output", (3, 50))
    graph = single("float32", "logistic", LogisticAttributes(), floats[:1], floats[1:])
    yield Example("float32", graph)


OPERATOR = OperatorKind(
    name="logistic",
    attributes=LogisticAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"LOGISTIC": _import_tflite}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: True,
)
