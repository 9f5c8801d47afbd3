"""An image of another size, every pixel that of the nearest in the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads
from uhost.ops._resize import (
    ResizeAttributes,
    import_resize,
    infer_resize,
    resize_cases,
    result_shape,
)


def nearest(at: ResizeAttributes, axis: int, size: int) -> NDArray[np.int64]:
    """Returns, for each row (`axis` 0) or column of the output, that of the source.

    In float32 as TFLite computes it ("resize_nearest_neighbor.h", GetNearestNeighbor).
    """
    wanted = at.size[axis]
    if at.align_corners and wanted > 1:
        scale = np.float32(size - 1) / np.float32(wanted - 1)
    else:
        scale = np.float32(size) / np.float32(wanted)
    places = np.arange(wanted).astype(np.float32)
    if at.half_pixel_centers:
        places = places + np.float32(0.5)
    places = places * scale
    # To nearest, halves away from zero: the sum is exact in double.
    added = 0.5 if at.align_corners else 0.0
    return np.clip(np.floor(places.astype(np.float64) + added).astype(np.int64), 0, size - 1)


def _infer(bound: BoundOperator[ResizeAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    require_moved(bound.input(0), bound.output)
    return [infer_resize(bound)]


def _reference(
    bound: BoundOperator[ResizeAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, at = inputs[0], bound.attributes
    assert source is not None
    rows, columns = (nearest(at, axis, source.shape[1 + axis]) for axis in (0, 1))
    return [np.ascontiguousarray(source[:, rows][:, :, columns])]


def _import_tflite(node: SourceNode) -> Imported:
    return import_resize(node, "ResizeNearestNeighborOptions")


def _examples() -> Iterable[Example]:
    for name, shape, at in resize_cases():
        yield moved(
            "resize_nearest_neighbor",
            f"int8_{name}",
            at,
            shape,
            result_shape(shape, at),
            DType.INT8,
        )
    double = ResizeAttributes((4, 6), False, False)
    for dtype in ANY_TYPE:
        yield moved(
            "resize_nearest_neighbor", str(dtype), double, (1, 2, 3, 2), (1, 4, 6, 2), dtype
        )


OPERATOR = OperatorKind(
    name="resize_nearest_neighbor",
    attributes=ResizeAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"RESIZE_NEAREST_NEIGHBOR": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT32, DType.INT64, DType.BOOL),
    is_copy=lambda bound: bound.attributes.size == bound.input(0).shape[1:3],
)
