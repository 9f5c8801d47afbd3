"""An image of another size, every pixel interpolated between four of the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._checks import require_dtype
from uhost.ops._movement import moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads
from uhost.ops._resize import (
    ResizeAttributes,
    import_resize,
    infer_resize,
    resize_cases,
    result_shape,
)

ONE = 1 << 10
"""A whole pixel of the integer kernel's fixed point."""

UNSIGNED_OFFSET = 128
"""By so much a uint8 number is more than the int8 one that stands for it."""

TYPES = (DType.FLOAT32, DType.INT8, DType.INT16)


@dataclass(frozen=True, slots=True)
class Between:
    """For each row or column of the output: two of the source, and how far it is past the first.

    `past` is in 1 / 1024 of a pixel for integers. Outside the source's border both are the
    border, and `past` may be negative.
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    past: NDArray[Any]


def between(at: ResizeAttributes, axis: int, size: int) -> Between:
    """Returns where integers are taken from ("resize_bilinear.h", ResizeBilinearInteger)."""
    wanted = at.size[axis]
    if at.align_corners and wanted > 1:
        step = (ONE * (size - 1) + (wanted - 1) // 2) // (wanted - 1)
    else:
        step = (ONE * size + wanted // 2) // wanted
    places = np.arange(wanted, dtype=np.int64) * step
    if at.half_pixel_centers:
        places += step // 2 - ONE // 2
    # C rounds quotients towards zero, but what is negative becomes 0 in either way.
    lower = np.maximum(places // ONE, 0)
    upper = np.minimum(np.maximum((places + ONE - 1) // ONE, 0), size - 1)
    return Between(lower, upper, places - ONE * lower)


def between_floats(at: ResizeAttributes, axis: int, size: int) -> Between:
    """Returns where float32 is taken from ("resize_bilinear.h", ResizeBilinear)."""
    wanted = at.size[axis]
    if at.align_corners and wanted > 1:
        step = np.float32(size - 1) / np.float32(wanted - 1)
    else:
        step = np.float32(size) / np.float32(wanted)
    places = np.arange(wanted).astype(np.float32)
    if at.half_pixel_centers:
        places = (places + np.float32(0.5)) * step - np.float32(0.5)
    else:
        places = places * step
    lower = np.maximum(np.floor(places).astype(np.int64), 0)
    upper = np.minimum(np.ceil(places).astype(np.int64), size - 1)
    return Between(lower, upper, places - lower.astype(np.float32))


def _infer(bound: BoundOperator[ResizeAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    require_dtype(bound.input(0), *TYPES)
    require_moved(bound.input(0), bound.output)
    return [infer_resize(bound)]


def _reference(
    bound: BoundOperator[ResizeAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, at = inputs[0], bound.attributes
    assert source is not None
    is_unsigned = at.unsigned and source.dtype == np.int8
    if is_unsigned:
        source = source.astype(np.float32) + np.float32(UNSIGNED_OFFSET)
    is_float = source.dtype == np.float32
    find = between_floats if is_float else between
    rows, columns = (find(at, axis, source.shape[1 + axis]) for axis in (0, 1))
    values = source if is_float else source.astype(np.int64)
    down, across = rows.past[:, None, None], columns.past[:, None]
    whole = np.float32(1) if is_float else ONE
    upper, lower = values[:, rows.lower], values[:, rows.upper]
    mixed = (
        upper[:, :, columns.lower] * (whole - down) * (whole - across)
        + lower[:, :, columns.lower] * down * (whole - across)
        + upper[:, :, columns.upper] * (whole - down) * across
        + lower[:, :, columns.upper] * down * across
    )
    if is_unsigned:
        return [(np.trunc(mixed + np.float32(0.5)) - UNSIGNED_OFFSET).astype(np.int8)]
    if is_float:
        return [mixed.astype(np.float32)]
    # To nearest, halves away from zero; 0 and below go with the negative ones.
    magnitude = (np.abs(mixed) + ONE * ONE // 2) // (ONE * ONE)
    return [(np.sign(mixed) * magnitude).astype(source.dtype)]


def _import_tflite(node: SourceNode) -> Imported:
    return import_resize(node, "ResizeBilinearOptions", unsigned=node.from_uint8)


def _examples() -> Iterable[Example]:
    for dtype in TYPES:
        for name, shape, at in resize_cases():
            result = result_shape(shape, at)
            yield moved("resize_bilinear", f"{dtype}_{name}", at, shape, result, dtype)


OPERATOR = OperatorKind(
    name="resize_bilinear",
    attributes=ResizeAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"RESIZE_BILINEAR": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.INT16),
)
