"""The same elements in the same order under another shape: RESHAPE, SQUEEZE, EXPAND_DIMS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._checks import require_same_dtype
from uhost.ops._examples import quantized, real
from uhost.ops._interval import Interval
from uhost.ops._movement import ANY_TYPE, moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._split import constant_axis
from uhost.ops._tflite import (
    check_counts,
    constant_integers,
    malformed,
    options_table,
    resolve_axis,
)


@dataclass(frozen=True, slots=True)
class ReshapeAttributes(Attributes):
    """Nothing: the output tensor's shape says it all."""


def _infer(bound: BoundOperator[ReshapeAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, output = bound.input(0), bound.output
    require_same_dtype(source, output)
    if source.elements != output.elements:
        raise MalformedModelError(
            f"{source.elements} elements cannot take the shape {list(output.shape)}",
            where=f"operator '{bound.name}' (reshape)",
        )
    return [(output.shape, source.dtype)]


def _reference(
    bound: BoundOperator[ReshapeAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [np.ascontiguousarray(source).reshape(bound.output.shape)]


def resolve_shape(shape: tuple[int, ...], elements: int) -> tuple[int, ...] | None:
    """Returns `shape` with its one -1 replaced to hold `elements`, or None where it cannot."""
    known = math.prod(size for size in shape if size != -1)
    if shape.count(-1) == 1 and known > 0 and elements % known == 0:
        return tuple(elements // known if size == -1 else size for size in shape)
    return shape if all(size >= 0 for size in shape) and known == elements else None


def _import_tflite(node: SourceNode) -> Imported:
    # TFLite Micro takes the shape from the output tensor and never reads the shape input; a
    # shape computed at run time is therefore no obstacle, as all shapes of a file are static.
    inputs = check_counts(node, 1, 2)
    source, output = inputs[0], node.outputs[0]
    wanted: tuple[int, ...] | None = None
    if len(inputs) == 2:
        if inputs[1].is_constant:
            wanted = constant_integers(node, inputs[1], "shape")
    else:
        options = options_table(node, "ReshapeOptions")
        if options is not None and not options.NewShapeIsNone():
            wanted = tuple(int(size) for size in options.NewShapeAsNumpy())
            if wanted == (0,):  # how old converters wrote the shape of a scalar
                wanted = ()
    shape = output.shape
    if wanted is not None:
        resolved = resolve_shape(wanted, source.elements)
        if resolved is None:
            raise malformed(node, f"{list(source.shape)} cannot be reshaped to {list(wanted)}")
        shape = resolved
    return Imported(ReshapeAttributes(), (source,), output_shape=shape)


def _import_squeeze(node: SourceNode) -> Imported:
    (source,) = check_counts(node, 1)
    options, rank = options_table(node, "SqueezeOptions"), len(source.shape)
    named = () if options is None or options.SqueezeDimsIsNone() else options.SqueezeDimsAsNumpy()
    gone = {resolve_axis(node, int(axis), rank) for axis in named}
    if any(source.shape[axis] != 1 for axis in gone):
        raise malformed(node, f"axes {sorted(gone)} of {list(source.shape)} are not all of size 1")
    gone = gone or {axis for axis in range(rank) if source.shape[axis] == 1}
    shape = tuple(size for axis, size in enumerate(source.shape) if axis not in gone)
    return Imported(ReshapeAttributes(), (source,), output_shape=shape)


def _import_expand_dims(node: SourceNode) -> Imported:
    source, operand = check_counts(node, 2)
    axis = constant_axis(node, operand, len(source.shape) + 1)
    shape = (*source.shape[:axis], 1, *source.shape[axis:])
    return Imported(ReshapeAttributes(), (source,), output_shape=shape)


def _examples() -> Iterable[Example]:
    def case(name: str, before: tuple[int, ...], after: tuple[int, ...]) -> Example:
        tensors = quantized("input", before, 0.1, 4), quantized("output", after, 0.1, 4)
        graph = single(name, "reshape", ReshapeAttributes(), tensors[:1], tensors[1:])
        return Example(name, graph, ("int8",))

    yield case("int8_flatten", (1, 3, 5, 2), (1, 30))
    yield case("int8_more_axes", (24,), (2, 3, 1, 4))
    yield case("int8_to_scalar", (1, 1), ())
    floats = real("input", (2, 6)), real("output", (3, 4))
    yield Example(
        "float32", single("float32", "reshape", ReshapeAttributes(), floats[:1], floats[1:])
    )
    for dtype in ANY_TYPE:
        if dtype not in (DType.FLOAT32, DType.INT8):
            yield moved("reshape", str(dtype), ReshapeAttributes(), (2, 6), (4, 3), dtype)


def _keeps_channels(bound: BoundOperator[ReshapeAttributes]) -> bool:
    return bool(bound.output.shape) and bound.input(0).shape[-1:] == bound.output.shape[-1:]


def _interval(bound: BoundOperator[ReshapeAttributes], inputs: Sequence[Interval]) -> Interval:
    if _keeps_channels(bound):
        return inputs[0]
    channels = bound.output.shape[-1] if bound.output.shape else 1
    low, high = inputs[0].low.min(), inputs[0].high.max()
    return Interval(np.full(channels, low), np.full(channels, high))


OPERATOR = OperatorKind(
    name="reshape",
    attributes=ReshapeAttributes,
    infer=_infer,
    reference=_reference,
    importers={
        "tflite": {
            "RESHAPE": _import_tflite,
            "SQUEEZE": _import_squeeze,
            "EXPAND_DIMS": _import_expand_dims,
        }
    },
    examples=_examples,
    takes_uint8=True,
    is_view=True,
    is_copy=lambda bound: True,
    interval=_interval,
    is_channelwise=_keeps_channels,
)
