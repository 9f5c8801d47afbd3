"""A tensor cut into equal pieces along one axis."""

from __future__ import annotations

from collections.abc import Iterable

from uhost.ir.dtype import DType
from uhost.ops._movement import ANY_TYPE, example_tensor
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads, single
from uhost.ops._split import SplitAttributes, constant_axis, infer_split, split_reference
from uhost.ops._tflite import malformed, options_table


def _import_tflite(node: SourceNode) -> Imported:
    if len(node.inputs) != 2 or node.inputs[1] is None:
        raise malformed(node, f"the operator has {len(node.inputs)} inputs")
    source, number = node.inputs[1], len(node.outputs)
    axis = constant_axis(node, node.inputs[0], len(source.shape))
    options = options_table(node, "SplitOptions")
    if number == 0 or (options is not None and options.NumSplits() != number):
        raise malformed(node, f"the operator has {number} outputs, not as many as its options say")
    if source.shape[axis] % number:
        raise malformed(node, f"{source.shape[axis]} elements in {number} equal pieces")
    sizes = (source.shape[axis] // number,) * number
    return Imported(SplitAttributes(axis, sizes), (source,))


def _examples() -> Iterable[Example]:
    def case(name: str, shape: tuple[int, ...], axis: int, pieces: int, dtype: DType) -> Example:
        size = shape[axis] // pieces
        each = (*shape[:axis], size, *shape[axis + 1 :])
        outputs = [example_tensor(f"output_{n}", each, dtype) for n in range(pieces)]
        attributes = SplitAttributes(axis, (size,) * pieces)
        source = example_tensor("input", shape, dtype)
        return Example(name, single(name, "split", attributes, [source], outputs), (str(dtype),))

    for dtype in ANY_TYPE:
        yield case(str(dtype), (2, 6, 3), 1, 3, dtype)
    yield case("int8_channels", (2, 3, 8), 2, 4, DType.INT8)
    yield case("int8_first", (4, 3), 0, 2, DType.INT8)
    yield case("int8_one", (4, 3), 1, 1, DType.INT8)


OPERATOR = OperatorKind(
    name="split",
    attributes=SplitAttributes,
    infer=infer_split,
    reference=split_reference,
    importers={"tflite": {"SPLIT": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    by_litert=reads(DType.UINT8, DType.INT64, DType.BOOL),
)
