"""MAX_POOL_2D: the largest of the input elements under each window."""

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
class MaxPool2DAttributes(PoolAttributes):
    """Window, stride, padding, activation; padded elements never win."""


def _reference(
    bound: BoundOperator[MaxPool2DAttributes], inputs: Sequence[Array | None]
) -> list[Array]:
    x = inputs[0]
    assert x is not None
    rows, columns = window_axes(bound)
    is_float = bound.output.dtype is DType.FLOAT32
    lowest = float(np.finfo(np.float32).min) if is_float else bound.output.dtype.limits[0]
    best = np.full(bound.output.shape, lowest, x.dtype)
    for _, out_rows, in_rows in rows.taps():
        for _, out_columns, in_columns in columns.taps():
            part = best[:, out_rows, out_columns]
            pixels = x[:, in_rows, in_columns]
            # Not np.maximum: a NaN loses, as it does against a plain comparison in C.
            np.copyto(part, pixels, where=pixels > part)
    if is_float:
        return [clamp_float(best, bound.attributes.activation)]
    low, high = activation_range(bound.attributes.activation.bounds, bound.output)
    return [np.clip(best, low, high).astype(bound.output.dtype.numpy)]


def _import_tflite(node: SourceNode) -> Imported:
    return import_tflite_pool(node, MaxPool2DAttributes)


def _examples() -> Iterator[Example]:
    return pool_examples("max_pool_2d", MaxPool2DAttributes)


OPERATOR: OperatorKind[MaxPool2DAttributes] = OperatorKind(
    name="max_pool_2d",
    attributes=MaxPool2DAttributes,
    infer=infer_pool,
    reference=_reference,
    importers={"tflite": {"MAX_POOL_2D": _import_tflite}},
    examples=_examples,
    rows=pool_rows,
    is_copy=is_one_pixel,
    interval=pool_interval,
    takes_uint8=True,
    is_channelwise=lambda bound: True,
)
