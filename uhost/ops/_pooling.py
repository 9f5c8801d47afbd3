"""What the two poolings share: window, checks, shapes, import and examples."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Quantization, Tensor
from uhost.numerics.fixed_point import activation_range
from uhost.ops._activation import tflite_activation
from uhost.ops._interval import Interval
from uhost.ops._op import (
    Activation,
    Example,
    Imported,
    Padding2D,
    SourceNode,
    UnsupportedNodeError,
    single,
)
from uhost.ops._rows import Rows, padded_rows
from uhost.ops._tflite import check_counts, malformed, options_table
from uhost.ops._weighted import check_per_tensor, check_same_quantization, place
from uhost.ops._window import Axis, axes, tflite_padding


@dataclass(frozen=True, slots=True)
class PoolAttributes(Attributes):
    """Pairs are (rows, columns). Padded elements are left out of every window.

    `unsigned`: the file's types are uint8, whose means round ties upward.
    """

    window: tuple[int, int]
    stride: tuple[int, int]
    padding: Padding2D
    activation: Activation
    unsigned: bool = False


P = TypeVar("P", bound=PoolAttributes)


def window_axes(bound: BoundOperator[P]) -> tuple[Axis, Axis]:
    """Returns rows and columns of the window; raises `MalformedModelError` for unsound ones."""
    a = bound.attributes
    return axes(bound.input(0).shape, a.window, a.stride, (1, 1), a.padding, place(bound))


def pool_rows(bound: BoundOperator[P]) -> Rows:
    """Returns the rows of a pooling; padding is left out of windows, so it is no row."""
    return replace(padded_rows(bound, window_axes(bound)[0]), pads=False)


def infer_pool(bound: BoundOperator[P]) -> list[tuple[tuple[int, ...], DType]]:
    """Returns shape and type of the output; checks arity, rank, types and quantisation."""
    where = place(bound)
    if len(bound.inputs) != 1 or bound.inputs[0] is None or len(bound.outputs) != 1:
        raise MalformedModelError("a pooling has one input and one output", where=where)
    x, output = bound.input(0), bound.output
    if len(x.shape) != 4:
        raise MalformedModelError(
            f"the input should have rank 4, has rank {len(x.shape)}", where=where
        )
    if x.dtype is not output.dtype:
        raise UnsupportedNodeError(f"{x.dtype} input, {output.dtype} output")
    if x.dtype in (DType.INT8, DType.INT16):
        check_per_tensor("input", x, where)
        check_per_tensor("output", output, where)
        check_same_quantization(bound)
    elif x.dtype is not DType.FLOAT32:
        raise UnsupportedNodeError(str(x.dtype))
    rows, columns = window_axes(bound)
    if x.dtype is DType.INT16 and rows.window * columns.window >= 2**16:
        raise UnsupportedNodeError("an int16 window of 65,536 elements or more")
    if not (rows.valid_taps().all() and columns.valid_taps().all()):
        raise MalformedModelError("a window lies wholly in the padding", where=where)
    return [((x.shape[0], rows.output, columns.output, x.shape[3]), x.dtype)]


def is_one_pixel(bound: BoundOperator[P]) -> bool:
    """True for an integer pooling that takes every pixel for itself and clamps nothing.

    Not for floats: an average turns -0 into 0, and a maximum replaces infinities.
    """
    a, output = bound.attributes, bound.output
    if (a.window, a.stride) != ((1, 1), (1, 1)) or output.dtype is DType.FLOAT32:
        return False
    same = bound.input(0).quantization == output.quantization
    return same and activation_range(a.activation.bounds, output) == output.dtype.limits


def pool_interval(bound: BoundOperator[P], inputs: Sequence[Interval]) -> Interval:
    """Returns the interval of a pooling: an average or a maximum leaves no channel's range."""
    return inputs[0].clipped(*activation_range(bound.attributes.activation.bounds, bound.output))


def import_tflite_pool(node: SourceNode, attributes: type[P]) -> Imported:
    """Returns the imported form of a TFLite pooling."""
    (image,) = check_counts(node, 1)
    options = options_table(node, "Pool2DOptions")
    if options is None:
        raise malformed(node, "the operator has no options")
    if len(image.shape) != 4:
        raise malformed(node, f"the input should have rank 4, has rank {len(image.shape)}")
    window = (options.FilterHeight(), options.FilterWidth())
    stride = (options.StrideH(), options.StrideW())
    where = f"operator {node.index}"
    padding = tflite_padding(options.Padding(), image.shape, window, stride, (1, 1), where)
    activation = tflite_activation(options.FusedActivationFunction())
    return Imported(attributes(window, stride, padding, activation, node.from_uint8), node.inputs)


def pool_examples(kind: str, attributes: type[P]) -> Iterator[Example]:
    """Yields small poolings: borders, strides, one pixel, global, activations, float."""

    def case(
        name: str,
        x: tuple[int, ...],
        window: tuple[int, int],
        stride: tuple[int, int],
        *,
        same: bool = False,
        activation: Activation = Activation.NONE,
        dtype: DType = DType.INT8,
        unsigned: bool = False,
    ) -> Example:
        padding = tflite_padding(0 if same else 1, x, window, stride, (1, 1), name)
        a = attributes(window, stride, padding, activation, unsigned)
        rng = np.random.default_rng(zlib.crc32(f"{kind}/{name}".encode()))
        quantization = None
        if dtype is not DType.FLOAT32:
            scale = float(np.float32(rng.uniform(0.01, 0.06)))
            zero_point = int(rng.integers(-20, 20)) if dtype is DType.INT8 else 0
            quantization = Quantization((scale,), (zero_point,))
        image = Tensor("input", x, dtype, quantization)
        rough = Tensor("output", x, dtype, quantization)
        shape, _ = infer_pool(BoundOperator(name, kind, a, (image,), (rough,)))[0]
        output = Tensor("output", shape, dtype, quantization)
        return Example(name, single(name, kind, a, (image,), (output,)), (str(dtype),))

    relu, relu6, n1 = Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1
    floats = DType.FLOAT32
    yield case("halving", (1, 6, 8, 5), (2, 2), (2, 2))
    yield case("same_odd", (1, 7, 5, 3), (2, 2), (2, 2), same=True)
    yield case("same_overlapping", (1, 6, 5, 4), (3, 3), (1, 1), same=True, activation=relu)
    yield case("global_window", (1, 5, 7, 6), (5, 7), (5, 7), activation=relu6)
    yield case("uneven_window", (1, 6, 9, 2), (3, 2), (2, 3), activation=n1)
    yield case("stride_above_window", (1, 9, 8, 3), (2, 1), (4, 3))
    yield case("one_pixel", (1, 1, 1, 7), (3, 3), (2, 2), same=True)
    yield case("window_above_image", (1, 2, 3, 4), (5, 6), (1, 1), same=True)
    yield case("batch", (3, 4, 3, 2), (2, 2), (1, 1), same=True)
    yield case("uint8_same", (1, 6, 5, 4), (2, 2), (1, 1), same=True, unsigned=True)
    yield case("int16_same", (1, 5, 6, 3), (3, 2), (2, 1), same=True, dtype=DType.INT16)
    yield case("int16_global", (2, 4, 5, 3), (4, 5), (1, 1), activation=relu6, dtype=DType.INT16)
    yield case("float_valid", (1, 5, 6, 3), (2, 3), (2, 1), dtype=floats)
    yield case("float_same", (2, 5, 4, 3), (3, 3), (2, 2), same=True, activation=n1, dtype=floats)
    yield case("float_global", (1, 4, 4, 5), (4, 4), (1, 1), activation=relu, dtype=floats)
