"""Padding with one value by constant amounts on every side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import COMPUTED, DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import (
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_same_quantization,
)
from uhost.ops._examples import quantized
from uhost.ops._interval import Interval
from uhost.ops._op import (
    Example,
    Imported,
    OperatorKind,
    SourceNode,
    UnsupportedNodeError,
    reads,
    single,
)
from uhost.ops._tflite import check_counts, constant_integers, malformed


@dataclass(frozen=True, slots=True)
class PadAttributes(Attributes):
    """Elements added before and after each axis, and the value they take.

    `value` is an element of the tensor's own type: a quantised number where the tensor is.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    value: int | float


def _infer(bound: BoundOperator[PadAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, at = bound.input(0), bound.attributes
    require_dtype(source, *COMPUTED)
    require_same_dtype(source, bound.output)
    if (
        not len(at.before) == len(at.after) == len(source.shape)
        or min((*at.before, *at.after), default=0) < 0
    ):
        raise MalformedModelError(
            f"padding {list(at.before)} and {list(at.after)} of a tensor of shape "
            f"{list(source.shape)}",
            where=f"operator '{bound.name}' (pad)",
        )
    sizes = zip(at.before, source.shape, at.after, strict=True)
    return [(tuple(sum(size) for size in sizes), source.dtype)]


def _reference(
    bound: BoundOperator[PadAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, at = inputs[0], bound.attributes
    assert source is not None
    padded = np.full(bound.output.shape, at.value, source.dtype)
    inside = zip(at.before, source.shape, strict=True)
    padded[tuple(slice(before, before + size) for before, size in inside)] = source
    return [padded]


def _fill_value(output: Tensor) -> int | float:
    """Returns what stands for zero: the zero point in int8, else 0 (int16 too, as TFLite does)."""
    if output.dtype is DType.FLOAT32:
        return 0.0
    if output.dtype is DType.INT8:
        require_quantized(output)
        return output.zero_point
    return 0


def _import(node: SourceNode, inputs: tuple[Tensor, ...], value: int | float) -> Imported:
    amounts = constant_integers(node, inputs[1], "paddings")
    rank = len(inputs[0].shape)
    if inputs[1].shape != (rank, 2):
        raise malformed(
            node, f"paddings of shape {list(inputs[1].shape)} for a tensor of rank {rank}"
        )
    return Imported(PadAttributes(amounts[0::2], amounts[1::2], value), inputs[:1])


def _import_pad(node: SourceNode) -> Imported:
    inputs = check_counts(node, 2)
    return _import(node, inputs, _fill_value(node.outputs[0]))


def _import_padv2(node: SourceNode) -> Imported:
    inputs = check_counts(node, 3)
    value, output = inputs[2], node.outputs[0]
    if value.values is None:
        raise UnsupportedNodeError("the pad value is not a constant")
    if value.elements != 1 or value.dtype is not output.dtype:
        raise malformed(node, f"a pad value of {value.dtype}{list(value.shape)}")
    if output.dtype is DType.INT8:
        require_same_quantization(output, value)
    return _import(node, inputs, value.values.reshape(-1)[0].item())


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shape: tuple[int, ...],
        before: tuple[int, ...],
        after: tuple[int, ...],
        value: int | None = None,
    ) -> Example:
        padded = tuple(b + s + a for b, s, a in zip(before, shape, after, strict=True))
        tensors = quantized("input", shape, 0.1, -9), quantized("output", padded, 0.1, -9)
        attributes = PadAttributes(before, after, -9 if value is None else value)
        graph = single(name, "pad", attributes, tensors[:1], tensors[1:])
        return Example(name, graph, ("int8",))

    yield case("int8_image", (1, 5, 4, 3), (0, 1, 2, 0), (0, 2, 1, 0))
    yield case("int8_channels", (2, 3, 3, 2), (0, 0, 0, 1), (0, 0, 0, 3))
    yield case("int8_vector", (5,), (3,), (0,))
    yield case("int8_every_axis", (2, 1, 3, 2), (1, 0, 2, 1), (0, 3, 1, 1))
    yield case("int8_rank_5", (1, 2, 2, 3, 2), (0, 1, 0, 0, 2), (1, 0, 1, 0, 0))
    yield case("int8_nothing", (2, 3), (0, 0), (0, 0))
    yield case("int8_value", (3, 4), (1, 2), (0, 1), 127)

    def plain(name: str, dtype: DType, value: int | float) -> Example:
        tensors = Tensor("input", (2, 3), dtype), Tensor("output", (4, 7), dtype)
        attributes = PadAttributes((1, 4), (1, 0), value)
        graph = single(name, "pad", attributes, tensors[:1], tensors[1:])
        return Example(name, graph, (str(dtype),))

    yield plain("float32", DType.FLOAT32, 0.0)
    yield plain("float32_value", DType.FLOAT32, -1.5)
    yield plain("int16", DType.INT16, 0)
    yield plain("int32", DType.INT32, 0)
    yield plain("int64", DType.INT64, -(1 << 40))


def _keeps_channels(bound: BoundOperator[PadAttributes]) -> bool:
    return bound.attributes.before[-1:] == bound.attributes.after[-1:] == (0,)


def _interval(bound: BoundOperator[PadAttributes], inputs: Sequence[Interval]) -> Interval:
    before, after = bound.attributes.before[-1], bound.attributes.after[-1]
    low, high = (np.pad(side, (before, after)) for side in (inputs[0].low, inputs[0].high))
    padding = np.pad(np.zeros(len(inputs[0].low), bool), (before, after), constant_values=True)
    value = int(bound.attributes.value)
    inside = Interval(low, high).including(value)
    return Interval(np.where(padding, value, inside.low), np.where(padding, value, inside.high))


OPERATOR = OperatorKind(
    name="pad",
    attributes=PadAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"PAD": _import_pad, "PADV2": _import_padv2}},
    examples=_examples,
    takes_uint8=True,
    is_copy=lambda bound: not any((*bound.attributes.before, *bound.attributes.after)),
    interval=_interval,
    is_channelwise=_keeps_channels,
    by_litert=reads(DType.INT64),
)
