"""To quantised numbers: from real ones, or from another quantisation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.affine import quantize
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._checks import require, require_dtype, require_quantized
from uhost.ops._examples import quantized, real
from uhost.ops._interval import elementwise
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._rows import element_rows
from uhost.ops._tflite import check_counts

CONVERSIONS = {
    DType.FLOAT32: (DType.INT8, DType.UINT8, DType.INT16),
    DType.INT8: (DType.INT8, DType.UINT8, DType.INT16, DType.INT32),
    DType.UINT8: (DType.INT8, DType.UINT8),
    DType.INT16: (DType.INT8, DType.INT16, DType.INT32),
    DType.INT32: (DType.INT8, DType.INT16),
}
"""Input type → output types: those of TFLite Micro, and the two to uint8 that only TFLite has."""


@dataclass(frozen=True, slots=True)
class QuantizeAttributes(Attributes):
    """Nothing: the tensors' quantisation says it all."""


def requantize_scaling(source: Tensor, output: Tensor) -> tuple[int, int]:
    """Returns (multiplier, shift) of s_in / s_out, formed in double."""
    return quantize_multiplier(source.scale / output.scale)


def _infer(bound: BoundOperator[QuantizeAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, output = bound.input(0), bound.output
    require_dtype(source, *CONVERSIONS)
    require(output.dtype in CONVERSIONS[source.dtype], f"from {source.dtype} to {output.dtype}")
    require_quantized(output)
    if source.dtype is not DType.FLOAT32:
        require_quantized(source)
    for tensor in (source, output):
        # 32-bit numbers less a zero point may overflow; converters give them none.
        require(
            tensor.dtype is not DType.INT32 or tensor.zero_point == 0,
            f"'{tensor.name}' is int32 with a zero point",
        )
    return [(source.shape, output.dtype)]


def _reference(
    bound: BoundOperator[QuantizeAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, output = inputs[0], bound.output
    assert source is not None
    limits = np.iinfo(output.dtype.value)
    if source.dtype == np.float32:
        return [quantize(source, output.scale, output.zero_point, limits.dtype)]
    offset = source.astype(np.int64) - bound.input(0).zero_point
    scaling = requantize_scaling(bound.input(0), output)
    result = multiply_by_quantized_multiplier(offset, *scaling)
    return [np.clip(result + output.zero_point, limits.min, limits.max).astype(limits.dtype)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(QuantizeAttributes(), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    def case(name: str, source: Tensor, output: Tensor) -> Example:
        graph = single(name, "quantize", QuantizeAttributes(), [source], [output])
        return Example(name, graph, (f"{source.dtype}_to_{output.dtype}",))

    shape = (3, 5, 7)
    real_input = real("input", shape)
    yield case("float32_to_int8", real_input, quantized("output", shape, 0.017, 4))
    yield case("float32_to_int8_coarse", real_input, quantized("output", shape, 0.25, -128))
    yield case("float32_to_uint8", real_input, quantized("output", shape, 0.02, 131, DType.UINT8))
    yield case("float32_to_int16", real_input, quantized("output", shape, 0.0001, 0, DType.INT16))
    for name, before, after in (
        ("int8_to_int8", (0.05, 3, DType.INT8), (0.031, -17, DType.INT8)),
        ("int8_to_int8_wider", (0.05, 3, DType.INT8), (0.9, 0, DType.INT8)),
        ("int8_to_int8_same", (0.05, 3, DType.INT8), (0.05, 3, DType.INT8)),
        ("int8_to_uint8", (0.05, -3, DType.INT8), (0.05, 125, DType.UINT8)),
        ("uint8_to_int8", (0.05, 128, DType.UINT8), (0.06, 0, DType.INT8)),
        ("int8_to_int16", (0.05, 3, DType.INT8), (0.0007, 0, DType.INT16)),
        ("int8_to_int32", (0.05, 3, DType.INT8), (0.0000013, 0, DType.INT32)),
        ("int16_to_int8", (0.0004, 0, DType.INT16), (0.05, -3, DType.INT8)),
        ("int16_to_int16", (0.0004, 0, DType.INT16), (0.0003, 0, DType.INT16)),
        ("int16_to_int32", (0.0004, 0, DType.INT16), (0.000001, 0, DType.INT32)),
        ("int32_to_int8", (1e-9, 0, DType.INT32), (0.011, 5, DType.INT8)),
        ("int32_to_int16", (1e-9, 0, DType.INT32), (0.00005, 0, DType.INT16)),
    ):
        yield case(
            name,
            quantized("input", shape, before[0], before[1], before[2]),
            quantized("output", shape, after[0], after[1], after[2]),
        )


OPERATOR = OperatorKind(
    name="quantize",
    attributes=QuantizeAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"QUANTIZE": _import_tflite}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    is_copy=lambda bound: (
        bound.input(0).dtype is bound.output.dtype
        and bound.input(0).quantization == bound.output.quantization
    ),
    interval=elementwise(_reference),
    is_channelwise=lambda bound: True,
    by_litert=lambda bound: (
        bound.output.dtype is DType.UINT8 and bound.input(0).dtype is DType.FLOAT32
    ),
)
