"""A tensor taken apart along one axis, which goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, example_tensor, misfit, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads, single
from uhost.ops._tflite import malformed, options_table, resolve_axis


@dataclass(frozen=True, slots=True)
class UnpackAttributes(Attributes):
    """`axis` is counted from the front; there is an output for each index of it."""

    axis: int


def _infer(bound: BoundOperator[UnpackAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, axis = bound.input(0), bound.attributes.axis
    require_moved(source, *bound.outputs)
    if not 0 <= axis < len(source.shape) or source.shape[axis] != len(bound.outputs):
        raise misfit(
            bound,
            f"{list(source.shape)} cannot be taken apart along axis {axis} into "
            f"{len(bound.outputs)} tensors",
        )
    each = (*source.shape[:axis], *source.shape[axis + 1 :])
    return [(each, source.dtype) for _ in bound.outputs]


def _reference(
    bound: BoundOperator[UnpackAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [np.array(piece) for piece in np.moveaxis(source, bound.attributes.axis, 0)]


def _import_tflite(node: SourceNode) -> Imported:
    if len(node.inputs) != 1 or node.inputs[0] is None:
        raise malformed(node, f"the operator has {len(node.inputs)} inputs")
    options = options_table(node, "UnpackOptions")
    axis = options.Axis() if options is not None else 0
    number = options.Num() if options is not None else len(node.outputs)
    if number != len(node.outputs):
        raise malformed(
            node, f"the operator has {len(node.outputs)} outputs, {number} by its options"
        )
    source = node.inputs[0]
    return Imported(UnpackAttributes(resolve_axis(node, axis, len(source.shape))), (source,))


def _examples() -> Iterable[Example]:
    def case(name: str, shape: tuple[int, ...], axis: int, dtype: DType) -> Example:
        each = (*shape[:axis], *shape[axis + 1 :])
        outputs = [example_tensor(f"output_{n}", each, dtype) for n in range(shape[axis])]
        source = example_tensor("input", shape, dtype)
        graph = single(name, "unpack", UnpackAttributes(axis), [source], outputs)
        return Example(name, graph, (str(dtype),))

    for dtype in ANY_TYPE:
        yield case(str(dtype), (2, 3, 4), 1, dtype)
    yield case("int8_first", (3, 16), 0, DType.INT8)
    yield case("int8_last", (2, 5, 2), 2, DType.INT8)
    yield case("int32_scalars", (4,), 0, DType.INT32)
    yield case("int8_one", (1, 6), 0, DType.INT8)


OPERATOR = OperatorKind(
    name="unpack",
    attributes=UnpackAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"UNPACK": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT64, DType.BOOL),
    is_copy=lambda bound: len(bound.outputs) == 1,
)
