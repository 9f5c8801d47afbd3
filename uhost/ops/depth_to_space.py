"""Channels of one pixel as a block of pixels."""

from __future__ import annotations

from collections.abc import Sequence

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._depth import DepthAttributes, as_space, block_examples, import_block
from uhost.ops._movement import misfit, require_moved
from uhost.ops._op import OperatorKind, reads


def _infer(bound: BoundOperator[DepthAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, block = bound.input(0), bound.attributes.block
    require_moved(source, bound.output)
    if len(source.shape) != 4 or block < 1 or source.shape[3] % (block * block):
        raise misfit(bound, f"{list(source.shape)} in blocks of {block} x {block} pixels")
    batches, rows, columns, channels = source.shape
    shape = (
        batches,
        rows * block,
        columns * block,
        channels // (block * block),
    )
    return [(shape, source.dtype)]


def _reference(
    bound: BoundOperator[DepthAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [as_space(source, bound.attributes.block)]


OPERATOR = OperatorKind(
    name="depth_to_space",
    attributes=DepthAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"DEPTH_TO_SPACE": import_block("DepthToSpaceOptions")}},
    examples=lambda: block_examples("depth_to_space", into_depth=False),
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL),
    is_copy=lambda bound: bound.attributes.block == 1,
)
