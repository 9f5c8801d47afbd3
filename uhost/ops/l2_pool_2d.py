"""L2_POOL_2D: the root of the mean of squares of the input elements under each window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._activation import clamp_float
from uhost.ops._checks import require
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._pooling import (
    PoolAttributes,
    import_tflite_pool,
    infer_pool,
    pool_examples,
    window_axes,
)


@dataclass(frozen=True, slots=True)
class L2Pool2DAttributes(PoolAttributes):
    """Window, stride, padding, activation; padded elements do not count."""


def _infer(bound: BoundOperator[L2Pool2DAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    dtype = bound.input(0).dtype
    require(dtype is DType.FLOAT32, f"'{bound.input(0).name}' is {dtype}, not float32")
    return infer_pool(bound)


def _reference(
    bound: BoundOperator[L2Pool2DAttributes], inputs: Sequence[Array | None]
) -> list[Array]:
    x = inputs[0]
    assert x is not None
    rows, columns = window_axes(bound)
    total = np.zeros(bound.output.shape, np.float32)
    count = np.zeros(bound.output.shape, np.float32)
    for _, out_rows, in_rows in rows.taps():
        for _, out_columns, in_columns in columns.taps():
            pixels = x[:, in_rows, in_columns]
            total[:, out_rows, out_columns] += pixels * pixels
            count[:, out_rows, out_columns] += 1
    return [clamp_float(np.sqrt(total / count), bound.attributes.activation)]


def _import_tflite(node: SourceNode) -> Imported:
    return import_tflite_pool(node, L2Pool2DAttributes)


def _examples() -> Iterator[Example]:
    for example in pool_examples("l2_pool_2d", L2Pool2DAttributes):
        if "float" in example.name:
            yield example


OPERATOR: OperatorKind[L2Pool2DAttributes] = OperatorKind(
    name="l2_pool_2d",
    attributes=L2Pool2DAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"L2_POOL_2D": _import_tflite}},
    examples=_examples,
    is_channelwise=lambda bound: True,
)
