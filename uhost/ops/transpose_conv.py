"""TRANSPOSE_CONV: every input pixel adds a window of weights to the output image.

Input pixel i of an axis adds weights[k] to output pixel i·stride - before + k; what falls off
the output is dropped. That is CONV_2D with image and result exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._activation import clamp_float, tflite_activation
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import malformed, options_table
from uhost.ops._weighted import (
    check_layer,
    check_ranks,
    finish_quantized,
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
from uhost.ops._window import Axis, check_positive, tflite_padding

_LARGEST_IMAGE = 1 << 16


@dataclass(frozen=True, slots=True)
class TransposeConvAttributes(Attributes):
    """Pairs are (rows, columns). Weights are (outputs, rows, columns, inputs).

    `size` is that of the output image; `before` how far the first window lies off it.
    `unsigned`: the file's types are uint8. LiteRT rounds the product of the input scales to
    float32, and subtracts the zero point of the weights.
    """

    stride: tuple[int, int]
    before: tuple[int, int]
    size: tuple[int, int]
    activation: Activation
    unsigned: bool = False


def window_axes(bound: BoundOperator[TransposeConvAttributes]) -> tuple[Axis, Axis]:
    """Returns rows and columns of the convolution that this one transposes.

    Its image is this operator's output, and its outputs are this operator's input pixels.
    """

    def axis(number: int) -> Axis:
        at = bound.attributes
        size, stride, before = at.size[number], at.stride[number], at.before[number]
        window, count = bound.input(1).shape[1 + number], bound.input(0).shape[1 + number]
        after = (count - 1) * stride + window - size - before
        return Axis(size, window, stride, 1, before, after)

    return axis(0), axis(1)


def _infer(
    bound: BoundOperator[TransposeConvAttributes],
) -> list[tuple[tuple[int, ...], DType]]:
    check_ranks(bound, input_rank=4, weights_rank=4)
    check_layer(bound, channel_axis=0)
    x, weights, at = bound.input(0), bound.input(1), bound.attributes
    check_positive("stride", at.stride, place(bound))
    check_positive("output", at.size, place(bound))
    if min(at.before) < 0 or max(at.before) >= _LARGEST_IMAGE:
        raise MalformedModelError(f"padding {at.before} is out of range", where=place(bound))
    if weights.shape[3] != x.shape[3]:
        raise MalformedModelError(
            f"weights for {weights.shape[3]} input channels do not match an input of "
            f"{x.shape[3]} channels",
            where=place(bound),
        )
    return [((x.shape[0], *at.size, weights.shape[0]), x.dtype)]


def _reference(
    bound: BoundOperator[TransposeConvAttributes], inputs: Sequence[Array | None]
) -> list[Array]:
    x, weights = inputs[0], inputs[1]
    assert x is not None
    assert weights is not None
    is_float = bound.output.dtype is DType.FLOAT32
    if not is_float:
        # Exact, and far faster than an integer product: see conv_2d.
        x = x.astype(np.float64) - bound.input(0).zero_point
        weights = weights.astype(np.float64) - weight_zero_point(bound)
    rows, columns = window_axes(bound)
    sums = np.zeros((x.shape[0], *bound.attributes.size, weights.shape[0]), x.dtype)
    for ky, in_rows, out_rows in rows.taps():
        for kx, in_columns, out_columns in columns.taps():
            sums[:, out_rows, out_columns] += x[:, in_rows, in_columns] @ weights[:, ky, kx].T
    if not is_float:
        return [finish_quantized(bound, sums, bound.attributes.activation)]
    bias = bound.optional_input(2)
    if bias is not None:
        sums = sums + bias.constant().reshape(-1)
    return [clamp_float(sums, bound.attributes.activation)]


def _import_tflite(node: SourceNode) -> Imported:
    options = options_table(node, "TransposeConvOptions")
    if options is None:
        raise malformed(node, "the operator has no options")
    if len(node.inputs) not in (3, 4) or len(node.outputs) != 1:
        raise malformed(node, "the operator takes a shape, weights, an input and a bias")
    _, weights, x, bias = (*node.inputs, None)[:4]
    output = node.outputs[0]
    if weights is None or x is None:
        raise malformed(node, "weights or input are missing")
    if len(weights.shape) != 4 or len(output.shape) != 4:
        raise malformed(node, "weights and output should have rank 4")
    stride = (options.StrideH(), options.StrideW())
    window = (weights.shape[1], weights.shape[2])
    where = f"operator #{node.index} (TRANSPOSE_CONV)"
    # TFLite Micro reads the output's shape from the output, never from the first input.
    padding = tflite_padding(options.Padding(), output.shape, window, stride, (1, 1), where)
    attributes = TransposeConvAttributes(
        stride,
        (padding.top, padding.left),
        (output.shape[1], output.shape[2]),
        tflite_activation(options.FusedActivationFunction()),
        node.from_uint8,
    )
    return Imported(attributes, (x, weights, bias))


def _macs(bound: BoundOperator[TransposeConvAttributes]) -> int:
    x, weights = bound.input(0), bound.input(1)
    return x.elements // x.shape[3] * weights.elements


def _examples() -> Iterator[Example]:
    def case(
        name: str,
        x: tuple[int, ...],
        weights: tuple[int, ...],
        stride: tuple[int, int] = (2, 2),
        *,
        same: bool = False,
        more: tuple[int, int] = (0, 0),
        activation: Activation = Activation.NONE,
        style: LayerStyle = PLAIN,
        unsigned: bool = False,
    ) -> Example:
        window = (weights[1], weights[2])
        rows, columns = (
            (x[1 + i] - (1 if same is False else 0)) * stride[i]
            + (window[i] if not same else 0)
            + more[i]
            for i in range(2)
        )
        image = (x[0], rows, columns, weights[0])
        padding = tflite_padding(0 if same else 1, image, window, stride, (1, 1), name)
        before = (padding.top, padding.left)
        attributes = TransposeConvAttributes(stride, before, (rows, columns), activation, unsigned)
        return layer_example(name, "transpose_conv", attributes, x, weights, 0, _infer, style)

    relu, relu6, n1 = Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1
    yield case("valid", (1, 4, 3, 5), (4, 3, 3, 5))
    yield case("same", (1, 4, 5, 3), (5, 3, 3, 3), same=True, activation=relu)
    yield case("stride_1", (1, 5, 4, 2), (3, 3, 2, 2), (1, 1), same=True, activation=relu6)
    yield case("stride_above_window", (1, 3, 3, 4), (2, 2, 1, 4), (3, 2))
    yield case("same_window_below_stride", (1, 3, 2, 4), (2, 1, 2, 4), (3, 3), same=True)
    yield case("one_pixel", (1, 1, 1, 7), (3, 4, 4, 7), activation=n1)
    yield case("one_row", (1, 1, 9, 3), (2, 1, 4, 3), (1, 2), same=True)
    yield case("batch", (2, 3, 2, 3), (4, 3, 3, 3), style=LayerStyle(per_channel=False))
    yield case("output_goes_on", (1, 3, 3, 2), (2, 3, 3, 2), more=(1, 1))
    yield case("no_bias", (1, 3, 3, 3), (2, 2, 2, 3), style=LayerStyle(with_bias=False))
    yield case("extreme_values", (1, 3, 3, 4), (6, 3, 3, 4), same=True, style=EXTREME)
    yield case("extreme_shifts", (1, 3, 3, 3), (8, 2, 2, 3), style=SHIFTS)
    shifted = LayerStyle(per_channel=False, weight_zero_point=23)
    yield case("uint8", (1, 4, 5, 3), (5, 3, 3, 3), same=True, style=shifted, unsigned=True)
    yield case("int16", (1, 4, 3, 5), (4, 3, 3, 5), same=True, style=INT16)
    yield case("int16_narrow", (1, 3, 3, 3), (3, 3, 3, 3), activation=relu, style=INT16_NARROW)
    floats = LayerStyle(dtype=DType.FLOAT32)
    yield case("float_same", (1, 4, 3, 5), (4, 3, 3, 5), same=True, activation=relu6, style=floats)
    yield case("float_batch", (2, 3, 2, 2), (3, 4, 2, 2), (3, 1), style=floats)


OPERATOR = OperatorKind(
    name="transpose_conv",
    attributes=TransposeConvAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"TRANSPOSE_CONV": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    macs=_macs,
    operands=lambda bound: (bound.input(0),),
)
