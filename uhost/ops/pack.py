"""Tensors of one shape, side by side along a new axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, example_tensor, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads, single
from uhost.ops._tflite import check_counts, malformed, options_table, resolve_axis


@dataclass(frozen=True, slots=True)
class PackAttributes(Attributes):
    """`axis` is that of the output, counted from the front."""

    axis: int


def _infer(bound: BoundOperator[PackAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    axis, output = bound.attributes.axis, bound.output
    sources = [bound.input(index) for index in range(len(bound.inputs))]
    for source in sources:
        require_moved(source, output)
    shape = sources[0].shape
    if any(source.shape != shape for source in sources) or not 0 <= axis <= len(shape):
        shapes = ", ".join(str(list(source.shape)) for source in sources)
        raise MalformedModelError(
            f"shapes {shapes} cannot be packed along axis {axis}",
            where=f"operator '{bound.name}' (pack)",
        )
    return [((*shape[:axis], len(sources), *shape[axis:]), sources[0].dtype)]


def _reference(
    bound: BoundOperator[PackAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    return [np.stack([array for array in inputs if array is not None], bound.attributes.axis)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 1, len(node.inputs))
    options = options_table(node, "PackOptions")
    axis = options.Axis() if options is not None else 0
    count = options.ValuesCount() if options is not None else len(inputs)
    if count != len(inputs):
        raise malformed(node, f"the operator packs {count} values and has {len(inputs)} inputs")
    return Imported(PackAttributes(resolve_axis(node, axis, len(inputs[0].shape) + 1)), inputs)


def _examples() -> Iterable[Example]:
    def case(name: str, shape: tuple[int, ...], axis: int, number: int, dtype: DType) -> Example:
        sources = [example_tensor(f"input_{n}", shape, dtype) for n in range(number)]
        output = example_tensor("output", (*shape[:axis], number, *shape[axis:]), dtype)
        graph = single(name, "pack", PackAttributes(axis), sources, [output])
        return Example(name, graph, (str(dtype),))

    for dtype in ANY_TYPE:
        yield case(str(dtype), (2, 3), 1, 3, dtype)
    yield case("int8_last", (2, 3), 2, 2, DType.INT8)
    yield case("int8_first", (2, 3), 0, 2, DType.INT8)
    yield case("int32_scalars", (), 0, 4, DType.INT32)


OPERATOR = OperatorKind(
    name="pack",
    attributes=PackAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"PACK": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.BOOL),
)
