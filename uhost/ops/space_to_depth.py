"""Blocks of pixels as channels of one pixel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._depth import DepthAttributes, as_depth
from uhost.ops._movement import ANY_TYPE, misfit, moved, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads
from uhost.ops._tflite import check_counts, malformed, options_table


def _infer(bound: BoundOperator[DepthAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, block = bound.input(0), bound.attributes.block
    require_moved(source, bound.output)
    if len(source.shape) != 4 or block < 1 or source.shape[1] % block or source.shape[2] % block:
        raise misfit(bound, f"{list(source.shape)} in blocks of {block} x {block} pixels")
    batches, rows, columns, channels = source.shape
    shape = (
        batches,
        rows // block,
        columns // block,
        channels * block * block,
    )
    return [(shape, source.dtype)]


def _reference(
    bound: BoundOperator[DepthAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [as_depth(source, bound.attributes.block)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 1)
    options = options_table(node, "SpaceToDepthOptions")
    if options is None:
        raise malformed(node, "the operator has no options")
    return Imported(DepthAttributes(options.BlockSize()), inputs)


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shape: tuple[int, ...],
        block: int,
        result: tuple[int, ...],
        dtype: DType = DType.INT8,
    ) -> Example:
        return moved("space_to_depth", name, DepthAttributes(block), shape, result, dtype)

    for dtype in ANY_TYPE:
        yield case(str(dtype), (1, 4, 6, 3), 2, (1, 2, 3, 12), dtype)
    yield case("int8_batches", (2, 3, 6, 1), 3, (2, 1, 2, 9))
    yield case("int8_whole", (1, 4, 4, 2), 4, (1, 1, 1, 32))
    yield case("int8_one", (1, 2, 3, 5), 1, (1, 2, 3, 5))


OPERATOR = OperatorKind(
    name="space_to_depth",
    attributes=DepthAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SPACE_TO_DEPTH": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL),
    is_copy=lambda bound: bound.attributes.block == 1,
)
