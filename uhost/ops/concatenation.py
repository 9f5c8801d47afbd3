"""Tensors joined along one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import COMPUTED, DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._activation import tflite_activation
from uhost.ops._checks import (
    require,
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_same_quantization,
)
from uhost.ops._examples import quantized, real
from uhost.ops._interval import Interval
from uhost.ops._movement import require_moved
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, options_table, resolve_axis

_OFFSET = 128
"""By so much a uint8 number is more than the int8 one that stands for it."""


@dataclass(frozen=True, slots=True)
class ConcatenationAttributes(Attributes):
    """`axis` is counted from the front.

    `unsigned`: the file's types are uint8. Inputs may be quantised otherwise than the output:
    LiteRT rescales these in float32.
    """

    axis: int
    unsigned: bool = False


def is_rescaled(bound: BoundOperator[ConcatenationAttributes], index: int) -> bool:
    """True if input number `index` has another quantisation than the output."""
    x, output = bound.input(index), bound.output
    return bound.attributes.unsigned and (x.scale, x.zero_point) != (
        output.scale,
        output.zero_point,
    )


def rescaled(bound: BoundOperator[ConcatenationAttributes], index: int, values: Array) -> Array:
    """Returns int8 `values` of an input in the output's quantisation.

    Source: LiteRT, `ConcatenationWithScaling`; the numbers are the uint8 ones there.
    """
    x, output = bound.input(index), bound.output
    scale = np.float32(x.scale) * (np.float32(1) / np.float32(output.scale))
    bias = np.float32(-(x.zero_point + _OFFSET)) * scale
    scaled = (values.astype(np.float32) + np.float32(_OFFSET)) * scale + bias
    exact = scaled.astype(np.float64)
    whole = np.trunc(exact + np.copysign(0.5, exact)) + output.zero_point
    made: Array = np.clip(whole, -128, 127).astype(np.int8)
    return made


def _infer(
    bound: BoundOperator[ConcatenationAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    axis, output = bound.attributes.axis, bound.output
    tensors = [bound.input(index) for index in range(len(bound.inputs))]
    first = tensors[0]
    for tensor in tensors:
        require_dtype(tensor, *COMPUTED)
    require_same_dtype(first, *tensors[1:], output)
    if bound.attributes.unsigned:
        require_quantized(output, *tensors)
    elif first.dtype is DType.INT8:
        # The kernels of TFLite and TFLite Micro copy; only the latter checks that this is right.
        require_same_quantization(output, *tensors)
    else:
        for tensor in tensors:
            require_moved(tensor, output)
    across = {tensor.shape[:axis] + tensor.shape[axis + 1 :] for tensor in tensors}
    ranks = {len(tensor.shape) for tensor in tensors}
    if len(across) != 1 or len(ranks) != 1 or not 0 <= axis < len(first.shape):
        shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors)
        raise MalformedModelError(
            f"shapes {shapes} cannot be joined along axis {axis}",
            where=f"operator '{bound.name}' (concatenation)",
        )
    size = sum(tensor.shape[axis] for tensor in tensors)
    return [((*first.shape[:axis], size, *first.shape[axis + 1 :]), first.dtype)]


def _reference(
    bound: BoundOperator[ConcatenationAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    parts = [
        rescaled(bound, index, array) if is_rescaled(bound, index) else array
        for index, array in enumerate(inputs)
        if array is not None
    ]
    return [np.concatenate(parts, axis=bound.attributes.axis)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 1, len(node.inputs))
    options = options_table(node, "ConcatenationOptions")
    axis = options.Axis() if options is not None else 0
    activation = tflite_activation(options.FusedActivationFunction() if options is not None else 0)
    require(activation is Activation.NONE, f"fused activation {activation}")
    axis = resolve_axis(node, axis, len(inputs[0].shape))
    unsigned = node.from_uint8 and inputs[0].dtype is DType.INT8
    return Imported(ConcatenationAttributes(axis, unsigned), inputs)


def _examples() -> Iterable[Example]:
    def case(
        name: str, axis: int, *shapes: tuple[int, ...], constant: Array | None = None
    ) -> Example:
        inputs = [quantized(f"input_{i}", s, 0.1, 7) for i, s in enumerate(shapes)]
        if constant is not None:
            inputs.append(quantized("constant", constant.shape, 0.1, 7, values=constant))
        return _joined(name, axis, inputs, lambda shape: quantized("output", shape, 0.1, 7))

    yield case("int8_channels", 3, (1, 3, 4, 5), (1, 3, 4, 2))
    yield case("int8_rows", 1, (2, 3, 2, 3), (2, 1, 2, 3), (2, 2, 2, 3))
    yield case("int8_first", 0, (1, 7), (3, 7), (2, 7))
    yield case("int8_vector", 0, (5,), (1,))
    yield case("int8_one_input", 1, (3, 4))
    yield case("int8_rank_5", 2, (2, 1, 3, 2, 2), (2, 1, 1, 2, 2))
    yield case("int8_constant", 1, (2, 3), constant=np.array([[-128, 0], [1, 127]], np.int8))
    for name, axis, shapes in (
        ("uint8_channels", 2, ((2, 3, 4), (2, 3, 1), (2, 3, 7))),
        ("uint8_rows", 0, ((2, 40), (3, 40), (1, 40))),
    ):
        scales = (0.1, 7), (0.03, -128), (0.7, 0)
        parts = [quantized(f"input_{i}", shape, *scales[i]) for i, shape in enumerate(shapes)]
        yield _joined(name, axis, parts, lambda s: quantized("output", s, 0.1, 7), unsigned=True)
    yield _joined(
        "float32", 1, [real("a", (2, 3)), real("b", (2, 4))], lambda shape: real("output", shape)
    )
    yield from (_plain(dtype) for dtype in (DType.INT32, DType.INT64, DType.BOOL))
    yield _joined(
        "int16",
        1,
        [quantized("a", (2, 3), 0.1, 0, DType.INT16), quantized("b", (2, 1), 0.1, 0, DType.INT16)],
        lambda shape: quantized("output", shape, 0.1, 0, DType.INT16),
    )


def _plain(dtype: DType) -> Example:
    parts = [Tensor("a", (2, 3), dtype), Tensor("b", (1, 3), dtype)]
    return _joined(str(dtype), 0, parts, lambda shape: Tensor("output", shape, dtype))


def _joined(
    name: str,
    axis: int,
    inputs: Sequence[Tensor],
    output: Callable[[tuple[int, ...]], Tensor],
    *,
    unsigned: bool = False,
) -> Example:
    """Returns the example that joins `inputs`; `output` makes the output tensor of a shape."""
    size = sum(tensor.shape[axis] for tensor in inputs)
    shape = (*inputs[0].shape[:axis], size, *inputs[0].shape[axis + 1 :])
    attributes = ConcatenationAttributes(axis, unsigned)
    graph = single(name, "concatenation", attributes, inputs, [output(shape)])
    return Example(name, graph, (str(inputs[0].dtype),))


def _joins_channels(bound: BoundOperator[ConcatenationAttributes]) -> bool:
    return bound.attributes.axis == len(bound.output.shape) - 1


def _interval(
    bound: BoundOperator[ConcatenationAttributes], inputs: Sequence[Interval]
) -> Interval:
    inputs = [
        Interval(*(rescaled(bound, index, end).astype(np.int64) for end in (one.low, one.high)))
        if is_rescaled(bound, index)
        else one
        for index, one in enumerate(inputs)
    ]
    if _joins_channels(bound):
        return Interval(
            np.concatenate([one.low for one in inputs]),
            np.concatenate([one.high for one in inputs]),
        )
    return Interval(
        np.min([one.low for one in inputs], axis=0), np.max([one.high for one in inputs], axis=0)
    )


OPERATOR = OperatorKind(
    name="concatenation",
    attributes=ConcatenationAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CONCATENATION": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    is_copy=lambda bound: len(bound.inputs) == 1 and not is_rescaled(bound, 0),
    interval=_interval,
    is_channelwise=lambda bound: not _joins_channels(bound),
    joins_channels=_joins_channels,
)
