"""Mean over constant axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._checks import (
    require,
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_symmetric,
)
from uhost.ops._examples import quantized, real
from uhost.ops._interval import Interval
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, constant_integers, options_table, resolve_axis

MAX_COUNTS = {DType.INT8: 1 << 23, DType.INT16: (1 << 16) - 1}
"""Most elements of one mean: their sum less the zero points fits 32 bits."""


@dataclass(frozen=True, slots=True)
class MeanAttributes(Attributes):
    """`axes` ascend, counted from the front; `keep_dims` leaves each as an axis of size 1."""

    axes: tuple[int, ...]
    keep_dims: bool


def mean_count(bound: BoundOperator[MeanAttributes]) -> int:
    """Returns how many elements each mean is over."""
    return math.prod(bound.input(0).shape[axis] for axis in bound.attributes.axes)


def mean_scaling(bound: BoundOperator[MeanAttributes]) -> tuple[int, int]:
    """Returns (multiplier, shift) that scale an integer sum and divide it by the count.

    The multiplier of s_in / s_out is shifted left as far as the shift allows and divided by
    the count, truncating. Source: TFLite, `QuantizedMeanOrSum`.
    """
    count = mean_count(bound)
    multiplier, shift = quantize_multiplier(bound.input(0).scale / bound.output.scale)
    spare = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << spare) // count, shift - spare


def _infer(bound: BoundOperator[MeanAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    source, at = bound.input(0), bound.attributes
    require_dtype(source, *MAX_COUNTS, DType.FLOAT32)
    require_same_dtype(source, bound.output)
    if list(at.axes) != sorted({axis for axis in at.axes if 0 <= axis < len(source.shape)}):
        raise MalformedModelError(
            f"axes {list(at.axes)} of a tensor of shape {list(source.shape)}",
            where=f"operator '{bound.name}' (mean)",
        )
    if source.dtype in MAX_COUNTS:
        require_quantized(source, bound.output)
        require_symmetric(source, bound.output)
        count, most = mean_count(bound), MAX_COUNTS[source.dtype]
        require(count <= most, f"a mean over {count} elements, more than {most}")
    if at.keep_dims:
        shape = tuple(1 if i in at.axes else size for i, size in enumerate(source.shape))
    else:
        shape = tuple(size for i, size in enumerate(source.shape) if i not in at.axes)
    return [(shape, source.dtype)]


def _reference(
    bound: BoundOperator[MeanAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source, output = inputs[0], bound.output
    assert source is not None
    at, count = bound.attributes, mean_count(bound)
    if bound.input(0).dtype in MAX_COUNTS:
        total = source.astype(np.int64).sum(axis=at.axes) - bound.input(0).zero_point * count
        result = multiply_by_quantized_multiplier(total, *mean_scaling(bound)) + output.zero_point
        low, high = output.dtype.limits
        return [np.clip(result, low, high).astype(output.dtype.numpy).reshape(output.shape)]
    kept = [axis for axis in range(source.ndim) if axis not in at.axes]
    rows = source.transpose(*kept, *at.axes).reshape(*(source.shape[axis] for axis in kept), count)
    # cumsum adds from the first element to the last, as the kernels do; sum would go pairwise.
    total = np.cumsum(rows, axis=-1, dtype=np.float32)[..., -1]
    return [(total / np.float32(count)).reshape(output.shape)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 2)
    options = options_table(node, "ReducerOptions")
    rank = len(inputs[0].shape)
    numbers = constant_integers(node, inputs[1], "axis")
    axes = sorted({resolve_axis(node, axis, rank) for axis in numbers})
    keep_dims = bool(options.KeepDims()) if options is not None else False
    return Imported(MeanAttributes(tuple(axes), keep_dims), inputs[:1])


def _examples() -> Iterable[Example]:
    def case(
        name: str,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        keep_dims: bool,
        scales: tuple[float, float] = (0.1, 0.1),
        zero_points: tuple[int, int] = (-4, -4),
        dtype: DType = DType.INT8,
    ) -> Example:
        result = tuple(
            1 if i in axes else size for i, size in enumerate(shape) if keep_dims or i not in axes
        )
        source = quantized("input", shape, scales[0], zero_points[0], dtype)
        output = quantized("output", result, scales[1], zero_points[1], dtype)
        graph = single(name, "mean", MeanAttributes(axes, keep_dims), [source], [output])
        return Example(name, graph, (str(dtype),))

    yield case("int8_image", (2, 5, 3, 7), (1, 2), True)
    yield case("int8_image_flat", (1, 6, 6, 5), (1, 2), False)
    yield case("int8_rescale", (1, 4, 5, 6), (1, 2), True, (0.05, 0.021), (-128, 11))
    yield case("int8_large_factor", (3, 40), (1,), False, (0.9, 0.003), (0, 1))
    yield case("int8_small_factor", (3, 7), (1,), False, (1e-9, 0.9), (5, 3))
    yield case("int8_first_axis", (9, 4), (0,), True)
    yield case("int8_outer_axes", (3, 4, 5, 2), (0, 2), False, (0.1, 0.07))
    yield case("int8_all", (3, 2, 5), (0, 1, 2), False)
    yield case("int8_rank_5", (2, 3, 2, 3, 2), (1, 3), True, (0.2, 0.1))
    yield case("int8_no_axis", (3, 4), (), False, (0.1, 0.3))

    wide = DType.INT16
    yield case("int16_image", (2, 5, 3, 7), (1, 2), True, (0.1, 0.1), (0, 0), wide)
    yield case("int16_rescale", (3, 40), (1,), False, (0.05, 0.021), (0, 0), wide)

    def floats(name: str, shape: tuple[int, ...], axes: tuple[int, ...], keep: bool) -> Example:
        result = tuple(
            1 if i in axes else size for i, size in enumerate(shape) if keep or i not in axes
        )
        tensors = real("input", shape), real("output", result)
        graph = single(name, "mean", MeanAttributes(axes, keep), tensors[:1], tensors[1:])
        return Example(name, graph, ("float32",))

    yield floats("float32_image", (1, 5, 4, 3), (1, 2), True)
    yield floats("float32_last", (3, 11), (1,), False)


def _is_copy(bound: BoundOperator[MeanAttributes]) -> bool:
    same = bound.input(0).quantization == bound.output.quantization
    return mean_count(bound) == 1 and same


def _keeps_channels(bound: BoundOperator[MeanAttributes]) -> bool:
    rank = len(bound.input(0).shape)
    return rank > 0 and rank - 1 not in bound.attributes.axes


def _interval(bound: BoundOperator[MeanAttributes], inputs: Sequence[Interval]) -> Interval:
    """A mean grows with every element: its ends are the means of rows of equal elements."""
    low, high = inputs[0].low, inputs[0].high
    if not _keeps_channels(bound):
        channels = bound.output.shape[-1] if bound.output.shape else 1
        low, high = np.full(channels, low.min()), np.full(channels, high.max())
    count, source, output = mean_count(bound), bound.input(0), bound.output
    if max(mean_scaling(bound)[1], 0) + (255 * count).bit_length() > 31:  # the shift may wrap
        return Interval(np.full_like(low, -128), np.full_like(high, 127))

    def mean(values: NDArray[np.int64]) -> NDArray[np.int64]:
        total = (values - source.zero_point) * count
        scaled = multiply_by_quantized_multiplier(total, *mean_scaling(bound))
        return np.clip(scaled + output.zero_point, -128, 127)

    return Interval(mean(low), mean(high))


OPERATOR = OperatorKind(
    name="mean",
    attributes=MeanAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"MEAN": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    is_copy=_is_copy,
    interval=_interval,
    is_channelwise=_keeps_channels,
)
