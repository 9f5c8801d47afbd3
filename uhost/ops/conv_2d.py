"""CONV_2D: a window of weights over an NHWC image, plain or grouped, with a fused activation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.hybrid import quantize_asymmetric, quantize_symmetric
from uhost.ops._activation import clamp_float, tflite_activation
from uhost.ops._interval import Interval, weighted
from uhost.ops._op import (
    Activation,
    Example,
    Imported,
    OperatorKind,
    Padding2D,
    SourceNode,
)
from uhost.ops._tflite import malformed, options_table
from uhost.ops._weighted import (
    check_layer,
    check_ranks,
    finish_quantized,
    hybrid_scales,
    is_hybrid,
    layer_rows,
    place,
    weight_zero_point,
)
from uhost.ops._weighted_examples import (
    EXTREME,
    INT16,
    INT16_NARROW,
    PLAIN,
    SHIFTS,
    LayerStyle,
    layer_example,
)
from uhost.ops._window import Axis, axes, tflite_padding


@dataclass(frozen=True, slots=True)
class Conv2DAttributes(Attributes):
    """Pairs are (rows, columns). Padded elements count as real zero.

    `unsigned`: the file's types are uint8, which TFLite Micro does not take. LiteRT rounds the
    product of the input scales to float32, and subtracts the zero point of the weights.
    """

    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: Padding2D
    activation: Activation
    unsigned: bool = False


def window_axes(bound: BoundOperator[Conv2DAttributes]) -> tuple[Axis, Axis]:
    """Returns rows and columns of the window; raises `MalformedModelError` for unsound ones."""
    x, weights, a = bound.input(0), bound.input(1), bound.attributes
    window = (weights.shape[1], weights.shape[2])
    return axes(x.shape, window, a.stride, a.dilation, a.padding, place(bound))


def groups(bound: BoundOperator[Conv2DAttributes]) -> int:
    """Returns into how many groups the input channels are split."""
    return bound.input(0).shape[3] // bound.input(1).shape[3]


def _infer(bound: BoundOperator[Conv2DAttributes]) -> list[tuple[tuple[int, ...], DType]]:
    check_ranks(bound, input_rank=4, weights_rank=4)
    check_layer(bound, channel_axis=0)
    x, weights = bound.input(0), bound.input(1)
    inputs, per_group, channels = x.shape[3], weights.shape[3], weights.shape[0]
    if inputs % per_group or channels % (inputs // per_group):
        raise MalformedModelError(
            f"weights for {per_group} input and {channels} output channels do not match "
            f"an input of {inputs} channels",
            where=place(bound),
        )
    rows, columns = window_axes(bound)
    return [((x.shape[0], rows.output, columns.output, channels), x.dtype)]


def _sum_integers(image: Array, weights: Array, rows: Axis, columns: Axis) -> Array:
    """Returns Σ image · weights of one group as float64, exact.

    float64 because its matrix product runs in BLAS and numpy's integer one does not. It is
    exact in whatever order BLAS adds: every product is an integer of at most 2^24 in size and
    every partial sum of up to 2^29 of them is an integer that float64 holds.
    """
    total = np.zeros((image.shape[0], rows.output, columns.output, weights.shape[0]))
    for ky, out_rows, in_rows in rows.taps():
        for kx, out_columns, in_columns in columns.taps():
            pixels = image[:, in_rows, in_columns]
            total[:, out_rows, out_columns] += pixels @ weights[:, ky, kx].T
    return total


def _sum_float(image: Array, weights: Array, rows: Axis, columns: Axis) -> Array:
    """Returns Σ image · weights of one group in float32, added tap by tap, channel by channel."""
    total = np.zeros(
        (image.shape[0], rows.output, columns.output, weights.shape[0]), dtype=np.float32
    )
    for ky, out_rows, in_rows in rows.taps():
        for kx, out_columns, in_columns in columns.taps():
            pixels = image[:, in_rows, in_columns]
            part = total[:, out_rows, out_columns]
            for channel in range(weights.shape[3]):
                part += pixels[..., channel, None] * weights[:, ky, kx, channel]
    return total


def _sum(
    bound: BoundOperator[Conv2DAttributes], image: Array, weights: Array, rows: Axis, columns: Axis
) -> Array:
    """Returns Σ image · weights of all groups."""
    count = groups(bound)
    sum_group = _sum_float if image.dtype == np.float32 else _sum_integers
    return np.concatenate(
        [
            sum_group(part, filters, rows, columns)
            for part, filters in zip(
                np.split(image, count, axis=3), np.split(weights, count, axis=0), strict=True
            )
        ],
        axis=3,
    )


def _hybrid(
    bound: BoundOperator[Conv2DAttributes], x: Array, weights: Array, rows: Axis, columns: Axis
) -> Array:
    """Returns the result of float32 activations and int8 weights: integer sums per sample."""
    images, bias, scales = [], bound.optional_input(2), hybrid_scales(bound)
    for image in x:
        sample = quantize_symmetric(image) if scales.size == 1 else quantize_asymmetric(image)
        centred = sample.values[None].astype(np.float64) - sample.zero_point
        sums = _sum(bound, centred, weights.astype(np.float64), rows, columns).astype(np.float32)
        if scales.size == 1:
            images.append(sums * (sample.scale * scales))
        else:
            images.append(sums * scales * sample.scale)
    result = np.concatenate(images)
    if bias is not None:
        result = result + bias.constant().reshape(-1)
    return clamp_float(result, bound.attributes.activation)


def _reference(
    bound: BoundOperator[Conv2DAttributes], inputs: Sequence[Array | None]
) -> list[Array]:
    x, weights = inputs[0], inputs[1]
    assert x is not None
    assert weights is not None
    rows, columns = window_axes(bound)
    if is_hybrid(bound):
        return [_hybrid(bound, x, weights, rows, columns)]
    is_float = bound.output.dtype is DType.FLOAT32
    if not is_float:
        x = x.astype(np.float64) - bound.input(0).zero_point
        weights = weights.astype(np.float64) - weight_zero_point(bound)
    sums = _sum(bound, x, weights, rows, columns)
    if not is_float:
        return [finish_quantized(bound, sums, bound.attributes.activation)]
    bias = bound.optional_input(2)
    if bias is not None:
        sums = sums + bias.constant().reshape(-1)
    return [clamp_float(sums, bound.attributes.activation)]


def _interval(bound: BoundOperator[Conv2DAttributes], inputs: Sequence[Interval]) -> Interval:
    weights = bound.input(1).constant().astype(np.int64) - weight_zero_point(bound)
    count, per_group = groups(bound), weights.shape[3]
    taps = weights.shape[1] * weights.shape[2]
    group = np.arange(weights.shape[0]) // (weights.shape[0] // count)
    channel = group[:, None] * per_group + np.tile(np.arange(per_group), taps)
    x = Interval(inputs[0].low[channel], inputs[0].high[channel])
    padded = bound.attributes.padding != Padding2D()
    return weighted(bound, weights.reshape(weights.shape[0], -1), x, padded=padded)


def _import_tflite(node: SourceNode) -> Imported:
    unset = Conv2DAttributes((1, 1), (1, 1), Padding2D(), Activation.NONE)
    bound = BoundOperator(f"#{node.index}", "conv_2d", unset, node.inputs, node.outputs)
    check_ranks(bound, input_rank=4, weights_rank=4)
    options = options_table(node, "Conv2DOptions")
    if options is None:
        raise malformed(node, "the operator has no options")
    x, weights = bound.input(0), bound.input(1)
    window = (weights.shape[1], weights.shape[2])
    stride = (options.StrideH(), options.StrideW())
    dilation = (options.DilationHFactor(), options.DilationWFactor())
    scheme = options.Padding()
    padding = tflite_padding(scheme, x.shape, window, stride, dilation, place(bound))
    activation = tflite_activation(options.FusedActivationFunction())
    attributes = Conv2DAttributes(stride, dilation, padding, activation, node.from_uint8)
    return Imported(attributes, (*node.inputs, None)[:3])


def _macs(bound: BoundOperator[Conv2DAttributes]) -> int:
    return bound.output.elements * math.prod(bound.input(1).shape[1:])


def _examples() -> Iterator[Example]:
    def case(
        name: str,
        x: tuple[int, ...],
        weights: tuple[int, ...],
        *,
        same: bool = False,
        stride: tuple[int, int] = (1, 1),
        dilation: tuple[int, int] = (1, 1),
        activation: Activation = Activation.NONE,
        style: LayerStyle = PLAIN,
        unsigned: bool = False,
    ) -> Example:
        window = (weights[1], weights[2])
        padding = tflite_padding(0 if same else 1, x, window, stride, dilation, name)
        attributes = Conv2DAttributes(stride, dilation, padding, activation, unsigned)
        return layer_example(name, "conv_2d", attributes, x, weights, 0, _infer, style)

    relu, relu6, n1 = Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1
    per_tensor, floats = LayerStyle(per_channel=False), LayerStyle(dtype=DType.FLOAT32)
    yield case("pointwise_odd_channels", (1, 5, 3, 7), (5, 1, 1, 7))
    yield case("pointwise_stride", (1, 5, 6, 4), (3, 1, 1, 4), stride=(2, 3), activation=relu)
    yield case("same", (1, 6, 5, 3), (4, 3, 3, 3), same=True, activation=relu)
    yield case("valid_stride", (1, 7, 9, 3), (5, 3, 3, 3), stride=(2, 2), style=per_tensor)
    yield case(
        "same_stride", (1, 8, 7, 2), (3, 3, 4, 2), same=True, stride=(2, 2), activation=relu6
    )
    yield case("same_dilation", (1, 9, 8, 3), (3, 3, 2, 3), same=True, dilation=(2, 3))
    yield case("valid_dilation", (1, 7, 6, 2), (3, 3, 3, 2), dilation=(2, 2), style=per_tensor)
    yield case("stride_above_window", (1, 10, 11, 2), (3, 2, 2, 2), stride=(3, 4), activation=n1)
    yield case("one_pixel", (1, 1, 1, 5), (3, 3, 3, 5), same=True)
    yield case("one_row", (1, 1, 16, 4), (6, 1, 5, 4), same=True, activation=relu)
    yield case("grouped", (1, 5, 4, 6), (9, 3, 3, 2), same=True, activation=relu)
    yield case("batch", (2, 4, 5, 3), (4, 2, 3, 3), same=True, activation=n1)
    yield case("no_bias", (1, 4, 4, 3), (4, 2, 2, 3), style=LayerStyle(with_bias=False))
    yield case("extreme_values", (1, 4, 4, 5), (6, 3, 3, 5), same=True, style=EXTREME)
    yield case("extreme_shifts", (1, 4, 4, 3), (8, 1, 1, 3), style=SHIFTS)
    shifted = LayerStyle(per_channel=False, weight_zero_point=23)
    yield case("uint8_same", (1, 6, 5, 3), (4, 3, 3, 3), same=True, style=shifted, unsigned=True)
    yield case("uint8_pointwise", (1, 4, 3, 9), (6, 1, 1, 9), style=shifted, unsigned=True)
    yield case("int16_same", (1, 6, 5, 3), (4, 3, 3, 3), same=True, activation=relu, style=INT16)
    yield case("int16_pointwise", (1, 4, 3, 7), (5, 1, 1, 7), style=INT16)
    yield case("int16_long", (1, 2, 2, 530), (3, 1, 1, 530), style=INT16)
    yield case("int16_grouped", (1, 5, 4, 6), (9, 3, 3, 2), same=True, style=INT16)
    yield case(
        "int16_no_bias",
        (1, 4, 4, 3),
        (4, 2, 2, 3),
        style=LayerStyle(dtype=DType.INT16, with_bias=False, per_channel=False),
    )
    yield case("int16_narrow", (1, 5, 4, 3), (4, 2, 3, 3), activation=n1, style=INT16_NARROW)
    yield case("int16_narrow_long", (1, 2, 1, 530), (3, 1, 1, 530), style=INT16_NARROW)
    yield case(
        "int16_extreme_values",
        (1, 4, 4, 5),
        (6, 3, 3, 5),
        same=True,
        style=LayerStyle(dtype=DType.INT16, numbers="extreme"),
    )
    yield case(
        "int16_extreme_shifts",
        (1, 4, 4, 3),
        (8, 1, 1, 3),
        style=LayerStyle(dtype=DType.INT16, numbers="shifts"),
    )
    yield case(
        "hybrid_per_tensor",
        (2, 6, 5, 3),
        (4, 3, 3, 3),
        same=True,
        activation=relu6,
        style=LayerStyle(hybrid=True, per_channel=False),
    )
    yield case("hybrid_per_channel", (2, 5, 4, 3), (6, 2, 3, 3), style=LayerStyle(hybrid=True))
    yield case(
        "hybrid_grouped",
        (1, 4, 4, 4),
        (6, 3, 3, 2),
        same=True,
        style=LayerStyle(hybrid=True, with_bias=False),
    )
    yield case("float_same", (1, 6, 5, 3), (4, 3, 3, 3), same=True, activation=relu6, style=floats)
    yield case("float_pointwise", (1, 3, 5, 7), (5, 1, 1, 7), activation=relu, style=floats)
    yield case(
        "float_grouped_dilation",
        (2, 6, 7, 4),
        (6, 3, 2, 2),
        same=True,
        dilation=(2, 2),
        activation=n1,
        style=LayerStyle(dtype=DType.FLOAT32, with_bias=False),
    )


OPERATOR = OperatorKind(
    name="conv_2d",
    attributes=Conv2DAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CONV_2D": _import_tflite}},
    examples=_examples,
    rows=lambda bound: layer_rows(bound, window_axes(bound)[0]),
    macs=_macs,
    interval=_interval,
    operands=lambda bound: (bound.input(0),),
    takes_uint8=True,
    is_contraction=lambda bound: groups(bound) == 1,
    by_litert=is_hybrid,
)
