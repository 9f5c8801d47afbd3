"""Every n-th element from a start, along each axis: STRIDED_SLICE, and SLICE, where n is 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require
from uhost.ops._movement import ANY_TYPE, example_tensor, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads, single
from uhost.ops._tflite import check_counts, constant_integers, malformed, options_table


@dataclass(frozen=True, slots=True)
class StridedSliceAttributes(Attributes):
    """Per axis of the input: first index, step (never 0) and number of elements.

    `shape` is the output's: the counts, without axes that are dropped and with new ones.
    """

    start: tuple[int, ...]
    step: tuple[int, ...]
    count: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Spec:
    """A slice as TensorFlow writes it; bit i of a mask is about entry i."""

    begin: tuple[int, ...]
    end: tuple[int, ...]
    strides: tuple[int, ...]
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0
    offset: bool = False


def resolve(spec: Spec, shape: Sequence[int]) -> StridedSliceAttributes:
    """Returns what `spec` takes of a tensor of `shape`.

    An end counts from the begin where `offset` is set. Raises `ValueError` where the slice
    does not fit the shape. Sources: TFLite, "strided_slice_logic.h" and "strided_slice.cc".
    """
    entries = len(spec.begin)
    if not (len(spec.end) == len(spec.strides) == entries):
        raise ValueError("begin, end and strides have different lengths")
    ellipses = [i for i in range(entries) if spec.ellipsis_mask >> i & 1]
    if len(ellipses) > 1:
        raise ValueError("there are two ellipses")
    new = [i for i in range(entries) if spec.new_axis_mask >> i & 1 and i not in ellipses]
    whole = len(shape) - (entries - len(ellipses) - len(new))
    if whole < 0:
        raise ValueError(f"{entries} entries for a tensor of rank {len(shape)}")
    start: list[int] = []
    step: list[int] = []
    count: list[int] = []
    result: list[int] = []

    def take_whole(axes: int) -> None:
        for _ in range(axes):
            size = shape[len(start)]
            start.append(0)
            step.append(1)
            count.append(size)
            result.append(size)

    for i in range(entries):
        if i in ellipses:
            take_whole(whole)
        elif i in new:
            result.append(1)
        else:
            first, stride, number = _axis(spec, i, shape[len(start)])
            start.append(first)
            step.append(stride)
            count.append(number)
            if not spec.shrink_axis_mask >> i & 1:
                result.append(number)
    if not ellipses:
        take_whole(whole)
    return StridedSliceAttributes(tuple(start), tuple(step), tuple(count), tuple(result))


def _axis(spec: Spec, i: int, size: int) -> tuple[int, int, int]:
    """Returns first index, step and number of elements of entry `i`, for an axis of `size`."""
    stride = spec.strides[i]
    if stride == 0:
        raise ValueError("a stride is 0")
    lowest, highest = (0, size) if stride > 0 else (-1, size - 1)
    start = spec.begin[i] + (size if spec.begin[i] < 0 else 0)
    if spec.begin_mask >> i & 1:
        start = 0 if stride > 0 else size - 1
    start = min(max(start, lowest), highest)
    if spec.shrink_axis_mask >> i & 1:
        if stride < 0 or not 0 <= start < size:
            raise ValueError(f"entry {i} names no single index of {size}")
        return start, 1, 1
    end = spec.end[i] + (start if spec.offset else 0)
    if not spec.offset and end < 0:
        end += size
    if spec.end_mask >> i & 1:
        end = highest if stride > 0 else lowest
    end = min(max(end, lowest), highest)
    return start, stride, max(-(-(end - start) // stride), 0)


def _infer(bound: BoundOperator[StridedSliceAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, at = bound.input(0), bound.attributes
    require_moved(source, bound.output)
    require(all(size > 0 for size in at.count), "the slice has no elements")
    inside = len(at.start) == len(source.shape) and all(
        0 <= index < size
        for first, step, count, size in zip(at.start, at.step, at.count, source.shape, strict=True)
        for index in (first, first + step * (count - 1))
    )
    if not inside:
        raise MalformedModelError(
            f"the slice leaves the shape {list(source.shape)}",
            where=f"operator '{bound.name}' (strided_slice)",
        )
    return [(at.shape, source.dtype)]


def _reference(
    bound: BoundOperator[StridedSliceAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, at = inputs[0], bound.attributes
    assert values is not None
    slices = []
    for first, step, count in zip(at.start, at.step, at.count, strict=True):
        end = first + step * count
        slices.append(slice(first, end if end >= 0 else None, step))
    return [values[tuple(slices)].reshape(at.shape).copy()]


def _import_tflite(node: SourceNode) -> Imported:
    if len(node.inputs) != 4 or len(node.outputs) != 1 or None in node.inputs:
        raise malformed(
            node, f"the operator has {len(node.inputs)} inputs and {len(node.outputs)} outputs"
        )
    source, *operands = (tensor for tensor in node.inputs if tensor is not None)
    names = ("begin", "end", "strides")
    begin, end, strides = (
        constant_integers(node, tensor, name) for tensor, name in zip(operands, names, strict=True)
    )
    options: Any = options_table(node, "StridedSliceOptions")
    masks = (0, 0, 0, 0, 0, False)
    if options is not None:
        masks = (
            options.BeginMask(),
            options.EndMask(),
            options.EllipsisMask(),
            options.NewAxisMask(),
            options.ShrinkAxisMask(),
            options.Offset(),
        )
    try:
        attributes = resolve(Spec(begin, end, strides, *masks), source.shape)
    except ValueError as error:
        raise malformed(node, str(error)) from error
    return Imported(attributes, (source,))


def _import_slice(node: SourceNode) -> Imported:
    source, *operands = check_counts(node, 3)
    begin, size = (
        constant_integers(node, tensor, role)
        for tensor, role in zip(operands, ("begin", "size"), strict=True)
    )
    shape = source.shape
    if not len(begin) == len(size) == len(shape):
        raise malformed(node, f"{len(begin)} begins and {len(size)} sizes for {list(shape)}")
    count = tuple(
        whole - first if number == -1 else number
        for whole, first, number in zip(shape, begin, size, strict=True)
    )
    return Imported(StridedSliceAttributes(begin, (1,) * len(shape), count, count), (source,))


def _is_whole(bound: BoundOperator[StridedSliceAttributes]) -> bool:
    at = bound.attributes
    return at.count == bound.input(0).shape and all(
        step > 0 or count == 1 for step, count in zip(at.step, at.count, strict=True)
    )


def _examples() -> Iterable[Example]:
    def case(name: str, source: Tensor, spec: Spec) -> Example:
        attributes = resolve(spec, source.shape)
        output = example_tensor("output", attributes.shape, source.dtype)
        graph = single(name, "strided_slice", attributes, [source], [output])
        return Example(name, graph, (str(source.dtype),))

    for dtype in ANY_TYPE:
        source = example_tensor("input", (1, 5, 4, 3), dtype)
        yield case(str(dtype), source, Spec((0, 1, 0, 0), (1, 5, 4, 3), (1, 1, 2, 1)))
    source = example_tensor("input", (2, 5, 4, 3), DType.INT8)
    yield case("int8_rows", source, Spec((0, 2), (0, 0), (1, 1), end_mask=3))
    yield case("int8_backward", source, Spec((1, -1, 3, 0), (-9, 0, -9, 3), (-1, -2, -3, 1)))
    yield case(
        "int8_shrink", source, Spec((1, 0, -1), (2, 5, 0), (1, 2, 1), shrink_axis_mask=0b101)
    )
    yield case(
        "int8_ellipsis",
        source,
        Spec((0, 0, 1), (0, 1, 3), (1, 1, 1), ellipsis_mask=1, new_axis_mask=2),
    )
    yield case("int8_offset", source, Spec((1, 2), (1, 2), (1, 1), offset=True))
    yield case("int8_vector", example_tensor("input", (9,), DType.INT8), Spec((-7,), (-1,), (3,)))
    shape = example_tensor("input", (4,), DType.INT32)
    yield case("int32_element", shape, Spec((1,), (2,), (1,), shrink_axis_mask=1))


OPERATOR = OperatorKind(
    name="strided_slice",
    attributes=StridedSliceAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"STRIDED_SLICE": _import_tflite, "SLICE": _import_slice}},
    examples=_examples,
    takes_uint8=True,
    is_copy=_is_whole,
    by_litert=reads(DType.UINT8, DType.INT64),
)
