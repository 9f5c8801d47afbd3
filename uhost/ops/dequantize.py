"""From quantised numbers to real ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.affine import dequantize
from uhost.ops._checks import require_dtype, require_quantized
from uhost.ops._examples import quantized, real
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class DequantizeAttributes(Attributes):
    """Nothing: the input's quantisation says it all."""


def _infer(bound: BoundOperator[DequantizeAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source = bound.input(0)
    require_dtype(source, DType.INT8, DType.UINT8, DType.INT16, DType.FLOAT16)
    require_dtype(bound.output, DType.FLOAT32)
    if source.dtype is not DType.FLOAT16:
        require_quantized(source)
    return [(source.shape, DType.FLOAT32)]


def _reference(
    bound: BoundOperator[DequantizeAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, tensor = inputs[0], bound.input(0)
    assert source is not None
    if source.dtype == np.float16:
        return [source.astype(np.float32)]
    return [dequantize(source, tensor.scale, tensor.zero_point)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(DequantizeAttributes(), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    for name, shape, scale, zero_point, dtype in (
        ("int8", (2, 3, 50), 0.0173, -5, DType.INT8),
        ("int8_lowest_zero_point", (256,), 1 / 3, -128, DType.INT8),
        ("int8_scalar", (), 0.5, 127, DType.INT8),
        ("int8_tiny_scale", (3, 7), 1e-30, 3, DType.INT8),
        ("uint8", (5, 41), 0.0073, 131, DType.UINT8),
        ("int16", (7, 11), 0.00031, 0, DType.INT16),
    ):
        source = quantized("input", shape, scale, zero_point, dtype)
        output = real("output", shape)
        graph = single(name, "dequantize", DequantizeAttributes(), [source], [output])
        yield Example(name, graph, (str(dtype),))


OPERATOR = OperatorKind(
    name="dequantize",
    attributes=DequantizeAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"DEQUANTIZE": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    folds_at_import=True,
)
