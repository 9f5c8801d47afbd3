"""A tensor cut along one axis into pieces of given sizes."""

from __future__ import annotations

from collections.abc import Iterable

from uhost.ir.dtype import DType
from uhost.ops._movement import ANY_TYPE, example_tensor
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads, single
from uhost.ops._split import SplitAttributes, constant_axis, infer_split, split_reference
from uhost.ops._tflite import constant_integers, malformed, options_table


def _import_tflite(node: SourceNode) -> Imported:
    if len(node.inputs) != 3 or node.inputs[0] is None or node.inputs[1] is None:
        raise malformed(node, f"the operator has {len(node.inputs)} inputs, or lacks one")
    source, outputs = node.inputs[0], node.outputs
    axis = constant_axis(node, node.inputs[2], len(source.shape))
    sizes = constant_integers(node, node.inputs[1], "sizes")
    options = options_table(node, "SplitVOptions")
    if not outputs or len(sizes) != len(outputs):
        raise malformed(node, f"the operator has {len(sizes)} sizes and {len(outputs)} outputs")
    if options is not None and options.NumSplits() != len(outputs):
        raise malformed(node, f"the operator makes {options.NumSplits()} outputs of {len(outputs)}")
    if sizes.count(-1) == 1:
        rest = source.shape[axis] - sum(size for size in sizes if size != -1)
        sizes = tuple(rest if size == -1 else size for size in sizes)
    return Imported(SplitAttributes(axis, sizes), (source,))


def _examples() -> Iterable[Example]:
    def case(
        name: str, shape: tuple[int, ...], axis: int, sizes: tuple[int, ...], dtype: DType
    ) -> Example:
        outputs = [
            example_tensor(f"output_{n}", (*shape[:axis], size, *shape[axis + 1 :]), dtype)
            for n, size in enumerate(sizes)
        ]
        source = example_tensor("input", shape, dtype)
        graph = single(name, "split_v", SplitAttributes(axis, sizes), [source], outputs)
        return Example(name, graph, (str(dtype),))

    for dtype in ANY_TYPE:
        yield case(str(dtype), (2, 6, 3), 1, (1, 3, 2), dtype)
    yield case("int8_channels", (2, 3, 8), 2, (5, 3), DType.INT8)
    yield case("int8_first", (4, 3), 0, (1, 3), DType.INT8)


OPERATOR = OperatorKind(
    name="split_v",
    attributes=SplitAttributes,
    infer=infer_split,
    reference=split_reference,
    importers={"tflite": {"SPLIT_V": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT64, DType.BOOL),
)
