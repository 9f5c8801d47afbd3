"""DEPTHWISE_CONV_2D: a window of weights per channel of an NHWC image, with a fused activation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.hybrid import quantize_asymmetric
from uhost.ops._activation import clamp_float, tflite_activation
from uhost.ops._interval import Interval, weighted
from uhost.ops._op import Activation, Example, Imported, OperatorKind, Padding2D, SourceNode
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
class DepthwiseConv2DAttributes(Attributes):
    """Pairs are (rows, columns). Padded elements count as real zero.

    Weights are (1, rows, columns, inputs · multiplier); output channel
    `input · multiplier + m` reads channel `input`.

    `unsigned`: the file's types are uint8, which TFLite Micro does not take. LiteRT rounds the
    product of the input scales to float32, and subtracts the zero point of the weights.
    """

    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: Padding2D
    activation: Activation
    unsigned: bool = False


def window_axes(bound: BoundOperator[DepthwiseConv2DAttributes]) -> tuple[Axis, Axis]:
    """Returns rows and columns of the window; raises `MalformedModelError` for unsound ones."""
    x, weights, a = bound.input(0), bound.input(1), bound.attributes
    window = (weights.shape[1], weights.shape[2])
    return axes(x.shape, window, a.stride, a.dilation, a.padding, place(bound))


def _infer(
    bound: BoundOperator[DepthwiseConv2DAttributes],
) -> list[tuple[tuple[int, ...], DType]]:
    check_ranks(bound, input_rank=4, weights_rank=4)
    check_layer(bound, channel_axis=3)
    x, weights = bound.input(0), bound.input(1)
    if weights.shape[0] != 1 or weights.shape[3] % x.shape[3]:
        raise MalformedModelError(
            f"depthwise weights of shape {'x'.join(map(str, weights.shape))} do not match "
            f"an input of {x.shape[3]} channels",
            where=place(bound),
        )
    rows, columns = window_axes(bound)
    return [((x.shape[0], rows.output, columns.output, weights.shape[3]), x.dtype)]


def _sum(bound: BoundOperator[DepthwiseConv2DAttributes], x: Array, weights: Array) -> Array:
    """Returns Σ x · weights of every output, in the type of the weights."""
    rows, columns = window_axes(bound)
    multiplier = weights.shape[3] // x.shape[3]
    shape = (x.shape[0], rows.output, columns.output, x.shape[3], multiplier)
    total = np.zeros(shape, weights.dtype)
    for ky, out_rows, in_rows in rows.taps():
        for kx, out_columns, in_columns in columns.taps():
            taps = weights[0, ky, kx].reshape(-1, multiplier)
            total[:, out_rows, out_columns] += x[:, in_rows, in_columns, :, None] * taps
    return total.reshape(*shape[:3], -1)


def _hybrid(bound: BoundOperator[DepthwiseConv2DAttributes], x: Array, weights: Array) -> Array:
    """Returns the result of float32 images and int8 weights: integer sums per image.

    Source: LiteRT, `DepthwiseConvHybridPerChannel`. One scale stands for every channel, where
    LiteRT reads past it.
    """
    images, scales = [], hybrid_scales(bound)
    bias = bound.optional_input(2)
    for image in x:
        sample = quantize_asymmetric(image)
        centred = sample.values[None].astype(np.int32) - sample.zero_point
        sums = _sum(bound, centred, weights.astype(np.int32)).astype(np.float32)
        images.append(sums * (scales * sample.scale))
    result = np.concatenate(images)
    if bias is not None:
        result = result + bias.constant().reshape(-1)
    return clamp_float(result, bound.attributes.activation)


def _reference(
    bound: BoundOperator[DepthwiseConv2DAttributes], inputs: Sequence[Array | None]
) -> list[Array]:
    x, weights = inputs[0], inputs[1]
    assert x is not None
    assert weights is not None
    if is_hybrid(bound):
        return [_hybrid(bound, x, weights)]
    rows, columns = window_axes(bound)
    is_float = bound.output.dtype is DType.FLOAT32
    if not is_float:
        # A product needs 16 bits, and int32 holds the sum of 32,768 of them; int16 ones need 23.
        most = 2**15 if x.dtype == np.int8 else 2**8
        x = x.astype(np.int32) - bound.input(0).zero_point
        weights = weights.astype(np.int32 if rows.window * columns.window <= most else np.int64)
        weights = weights - weight_zero_point(bound)
    sums = _sum(bound, x, weights)
    if not is_float:
        return [finish_quantized(bound, sums, bound.attributes.activation)]
    bias = bound.optional_input(2)
    if bias is not None:
        sums = sums + bias.constant().reshape(-1)
    return [clamp_float(sums, bound.attributes.activation)]


def _interval(
    bound: BoundOperator[DepthwiseConv2DAttributes], inputs: Sequence[Interval]
) -> Interval:
    weights = bound.input(1).constant().astype(np.int64) - weight_zero_point(bound)
    channels = weights.shape[3]
    channel = np.arange(channels) // (channels // bound.input(0).shape[3])
    x = Interval(inputs[0].low[channel, None], inputs[0].high[channel, None])
    padded = bound.attributes.padding != Padding2D()
    return weighted(bound, weights.reshape(-1, channels).T, x, padded=padded)


def _import_tflite(node: SourceNode) -> Imported:
    unset = DepthwiseConv2DAttributes((1, 1), (1, 1), Padding2D(), Activation.NONE)
    bound = BoundOperator(f"#{node.index}", "depthwise_conv_2d", unset, node.inputs, node.outputs)
    check_ranks(bound, input_rank=4, weights_rank=4)
    options = options_table(node, "DepthwiseConv2DOptions")
    if options is None:
        raise malformed(node, "the operator has no options")
    x, weights = bound.input(0), bound.input(1)
    window = (weights.shape[1], weights.shape[2])
    stride = (options.StrideH(), options.StrideW())
    dilation = (options.DilationHFactor(), options.DilationWFactor())
    scheme = options.Padding()
    padding = tflite_padding(scheme, x.shape, window, stride, dilation, place(bound))
    activation = tflite_activation(options.FusedActivationFunction())
    # The depth multiplier of the options repeats what the shapes say, and is often wrong.
    attributes = DepthwiseConv2DAttributes(stride, dilation, padding, activation, node.from_uint8)
    return Imported(attributes, (*node.inputs, None)[:3])


def _macs(bound: BoundOperator[DepthwiseConv2DAttributes]) -> int:
    return bound.output.elements * math.prod(bound.input(1).shape[1:3])


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
        attributes = DepthwiseConv2DAttributes(stride, dilation, padding, activation, unsigned)
        return layer_example(name, "depthwise_conv_2d", attributes, x, weights, 3, _infer, style)

    relu, relu6, n1 = Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1
    per_tensor, floats = LayerStyle(per_channel=False), LayerStyle(dtype=DType.FLOAT32)
    yield case("same_odd_channels", (1, 6, 5, 7), (1, 3, 3, 7), same=True, activation=relu)
    yield case(
        "same_stride", (1, 8, 7, 4), (1, 3, 3, 4), same=True, stride=(2, 2), activation=relu6
    )
    yield case("valid", (1, 5, 6, 3), (1, 2, 3, 3), style=per_tensor)
    yield case("global_window", (1, 4, 5, 6), (1, 4, 5, 6), activation=n1)
    yield case("multiplier_of_one_channel", (1, 9, 7, 1), (1, 5, 4, 8), same=True, stride=(2, 2))
    yield case("multiplier", (1, 4, 5, 3), (1, 3, 3, 6), activation=relu, style=per_tensor)
    yield case("same_dilation", (1, 7, 9, 5), (1, 3, 3, 5), same=True, dilation=(2, 2))
    yield case("stride_above_window", (1, 10, 9, 3), (1, 2, 2, 3), stride=(4, 3))
    yield case("one_pixel", (1, 1, 1, 9), (1, 3, 3, 9), same=True)
    yield case("batch", (2, 4, 3, 5), (1, 3, 3, 5), same=True, activation=relu6)
    yield case("no_bias", (1, 4, 4, 3), (1, 2, 2, 3), style=LayerStyle(with_bias=False))
    yield case("extreme_values", (1, 5, 4, 6), (1, 3, 3, 6), same=True, style=EXTREME)
    yield case("extreme_shifts", (1, 3, 3, 8), (1, 1, 2, 8), style=SHIFTS)
    shifted = LayerStyle(per_channel=False, weight_zero_point=-31)
    yield case("uint8_same", (1, 6, 5, 5), (1, 3, 3, 5), same=True, style=shifted, unsigned=True)
    yield case("int16_same", (1, 6, 5, 3), (1, 3, 3, 3), same=True, activation=relu, style=INT16)
    yield case("int16_multiplier", (1, 5, 5, 2), (1, 3, 2, 6), stride=(2, 1), style=INT16)
    yield case("int16_narrow", (1, 5, 4, 3), (1, 2, 3, 3), activation=n1, style=INT16_NARROW)
    yield case("int16_long", (1, 30, 20, 2), (1, 30, 20, 2), style=INT16)
    hybrid, bare = LayerStyle(hybrid=True), LayerStyle(hybrid=True, with_bias=False)
    yield case("hybrid_same", (2, 6, 5, 3), (1, 3, 3, 3), same=True, activation=relu6, style=hybrid)
    yield case("hybrid_multiplier", (1, 5, 5, 2), (1, 3, 2, 6), stride=(2, 1), style=bare)
    yield case("hybrid_of_one_channel", (1, 6, 7, 1), (1, 3, 3, 4), style=hybrid)
    one_scale = LayerStyle(hybrid=True, per_channel=False)
    yield case("hybrid_per_tensor", (1, 4, 5, 4), (1, 3, 3, 4), same=True, style=one_scale)
    yield case("float_same", (1, 6, 5, 3), (1, 3, 3, 3), same=True, activation=relu6, style=floats)
    yield case(
        "float_multiplier_dilation",
        (2, 6, 7, 2),
        (1, 3, 2, 6),
        dilation=(2, 3),
        activation=n1,
        style=LayerStyle(dtype=DType.FLOAT32, with_bias=False),
    )


OPERATOR = OperatorKind(
    name="depthwise_conv_2d",
    attributes=DepthwiseConv2DAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"DEPTHWISE_CONV_2D": _import_tflite}},
    examples=_examples,
    rows=lambda bound: layer_rows(bound, window_axes(bound)[0]),
    macs=_macs,
    interval=_interval,
    operands=lambda bound: (bound.input(0),),
    takes_uint8=True,
    is_channelwise=lambda bound: bound.input(1).shape[3] == bound.input(0).shape[3],
    is_expansion=lambda bound: bound.input(0).shape[3] == 1 < bound.input(1).shape[3],
    by_litert=is_hybrid,
)
