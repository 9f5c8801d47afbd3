"""AVERAGE_POOL_2D: the mean of the input elements under each window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import activation_range
from uhost.ops._activation import clamp_float
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._pooling import (
    PoolAttributes,
    import_tflite_pool,
    infer_pool,
    is_one_pixel,
    pool_examples,
    pool_interval,
    pool_rows,
    window_axes,
)


@dataclass(frozen=True, slots=True)
class AveragePool2DAttributes(PoolAttributes):
    """Window, stride, padding, activation; the mean is over the elements inside the image."""


def _reference(
    bound: BoundOperator[AveragePool2DAttributes], inputs: Sequence[Array | None]
) -> list[Array]:
    x = inputs[0]
    assert x is not None
    rows, columns = window_axes(bound)
    is_float = bound.output.dtype is DType.FLOAT32
    total = np.zeros(bound.output.shape, np.float32 if is_float else np.int64)
    for _, out_rows, in_rows in rows.taps():
        for _, out_columns, in_columns in columns.taps():
            total[:, out_rows, out_columns] += x[:, in_rows, in_columns]
    count = (rows.valid_taps()[:, None] * columns.valid_taps()[None, :])[..., None]
    if is_float:
        return [clamp_float(total / count.astype(np.float32), bound.attributes.activation)]
    # The zero point stays in the sum: it is the same on both sides.
    if bound.attributes.unsigned:
        mean = (total + count // 2) // count
    else:
        # Half away from zero.
        magnitude = (np.abs(total) + count // 2) // count
        mean = np.where(total > 0, magnitude, -magnitude)
    low, high = activation_range(bound.attributes.activation.bounds, bound.output)
    return [np.clip(mean, low, high).astype(bound.output.dtype.numpy)]


def _import_tflite(node: SourceNode) -> Imported:
    return import_tflite_pool(node, AveragePool2DAttributes)


def _examples() -> Iterator[Example]:
    return pool_examples("average_pool_2d", AveragePool2DAttributes)


OPERATOR: OperatorKind[AveragePool2DAttributes] = OperatorKind(
    name="average_pool_2d",
    attributes=AveragePool2DAttributes,
    infer=infer_pool,
    reference=_reference,
    importers={"tflite": {"AVERAGE_POOL_2D": _import_tflite}},
    examples=_examples,
    rows=pool_rows,
    is_copy=is_one_pixel,
    interval=pool_interval,
    takes_uint8=True,
    is_channelwise=lambda bound: True,
)
