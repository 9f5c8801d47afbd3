"""Convolutions, fully connected layers and poolings: shapes, refusals and TFLite import."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Quantization, Tensor
from uhost.ops._op import (
    OPERATORS,
    Activation,
    Padding2D,
    SourceNode,
    UnsupportedNodeError,
)
from uhost.ops.average_pool_2d import AveragePool2DAttributes
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes
from uhost.ops.fully_connected import FullyConnectedAttributes
from uhost.ops.max_pool_2d import MaxPool2DAttributes
from uhost.ops.transpose_conv import TransposeConvAttributes

PER_TENSOR = Quantization((0.5,), (0,))

# ---- Refusals --------------------------------------------------------------------------------

HYBRID = "float32 int8 float32 float32"
UNIT = ((1, 1), (1, 1), Padding2D(), Activation.NONE)


def layer(
    kind: str = "conv_2d",
    attributes: Attributes | None = None,
    x: tuple[int, ...] = (1, 4, 4, 2),
    weights: tuple[int, ...] = (3, 2, 2, 2),
    bias: int | None = 3,
    types: str = "int8 int8 int32 int8",
    scales: tuple[Quantization | None, ...] = (PER_TENSOR, PER_TENSOR, PER_TENSOR),
    constant: str = "wb",
) -> BoundOperator[Any]:
    x_type, w_type, b_type, y_type = map(DType, types.split())
    values = np.ones(weights, w_type.numpy) if "w" in constant else None
    inputs: list[Tensor | None] = [
        Tensor("x", x, x_type, scales[0]),
        Tensor("w", weights, w_type, scales[1], values),
    ]
    if bias is not None:
        b = np.ones(bias, b_type.numpy) if "b" in constant else None
        inputs.append(Tensor("b", (bias,), b_type, None, b))
    channels = weights[3 if kind == "depthwise_conv_2d" else 0]
    output = Tensor("y", (1, 1, 1, channels), y_type, scales[2])
    return BoundOperator(
        "layer", kind, attributes or Conv2DAttributes(*UNIT), tuple(inputs), (output,)
    )


def depthwise(**changes: Any) -> BoundOperator[Any]:
    changes = {"weights": (1, 2, 2, 4), "bias": 4, **changes}
    return layer("depthwise_conv_2d", DepthwiseConv2DAttributes(*UNIT), **changes)


def connected(keep_dims: bool = False, **changes: Any) -> BoundOperator[Any]:
    changes = {"x": (1, 8), "weights": (3, 8), **changes}
    attributes = FullyConnectedAttributes(Activation.NONE, keep_dims)
    return layer("fully_connected", attributes, **changes)


def pool(
    x: tuple[int, ...] = (1, 4, 4, 2),
    window: tuple[int, int] = (2, 2),
    stride: tuple[int, int] = (2, 2),
    padding: Padding2D = Padding2D(),  # noqa: B008
    types: str = "int8 int8",
    scales: tuple[Quantization | None, ...] = (PER_TENSOR, PER_TENSOR),
    inputs: int = 1,
) -> BoundOperator[Any]:
    x_type, y_type = map(DType, types.split())
    image = Tensor("x", x, x_type, scales[0])
    output = Tensor("y", (1, 2, 2, 2), y_type, scales[1])
    attributes = MaxPool2DAttributes(window, stride, padding, Activation.NONE)
    return BoundOperator("pool", "max_pool_2d", attributes, (image,) * inputs, (output,))


def conv(stride: Any = (1, 1), dilation: Any = (1, 1), pad: Any = (0, 0, 0, 0)) -> Any:
    return layer(attributes=Conv2DAttributes(stride, dilation, Padding2D(*pad), Activation.NONE))


def scaled(x: Any = PER_TENSOR, w: Any = PER_TENSOR, y: Any = PER_TENSOR) -> Any:
    return layer(scales=(x, w, y))


ARITY = "a weighted layer takes an input, weights and an optional bias, and has one output"
MALFORMED: list[tuple[BoundOperator[Any], str]] = [
    (replace(layer(), inputs=layer().inputs[:1]), ARITY),
    (replace(layer(), inputs=(None, *layer().inputs[1:])), ARITY),
    (replace(layer(), outputs=()), ARITY),
    (layer(x=(4, 4, 2)), "the input should have rank 4, has rank 3"),
    (layer(weights=(3, 2)), "the weights should have rank 4, has rank 2"),
    (layer(weights=(0, 2, 2, 2)), "an input or the weights are empty"),
    (
        replace(layer(), outputs=layer(weights=(5, 2, 2, 2)).outputs),
        "the output [1, 1, 1, 5] does not have the weights' 3 channels",
    ),
    (layer(bias=4), "the bias has 4 elements for 3 output channels"),
    (
        layer(weights=(3, 2, 2, 3)),
        "weights for 3 input and 3 output channels do not match an input of 2 channels",
    ),
    (
        layer(weights=(3, 2, 2, 1)),
        "weights for 1 input and 3 output channels do not match an input of 2 channels",
    ),
    (conv(stride=(0, 1)), "stride 0x1 is out of range"),
    (conv(stride=(1, -2)), "stride 1x-2 is out of range"),
    (conv(dilation=(1, 0)), "dilation 1x0 is out of range"),
    (conv(dilation=(65537, 1)), "dilation 65537x1 is out of range"),
    (conv(pad=(0, -1, 0, 0)), "padding 0,-1,0,0 is out of range"),
    (
        conv(dilation=(4, 1)),
        "a window of 5x2 does not fit an image of 4x4 with padding 0,0,0,0",
    ),
    (
        layer(
            weights=(1, 1, 20, 2),
            bias=1,
            attributes=Conv2DAttributes((1, 1), (1, 60000), Padding2D(), Activation.NONE),
        ),
        "a dilated window of 1x1140001 is out of range",
    ),
    (scaled(x=None), "the input has no scale"),
    (scaled(y=Quantization((), ())), "the output has no scale"),
    (scaled(x=Quantization((0.5, 0.5), (0, 0), 3)), "the input has 2 scales, expected one"),
    (scaled(x=Quantization((0.0,), (0,))), "the scale of the input is 0.0"),
    (scaled(y=Quantization((math.nan,), (0,))), "the scale of the output is nan"),
    (scaled(x=Quantization((0.5,), (128,))), "the zero point 128 of the input is no int8 value"),
    (scaled(w=None), "the weights have no scale"),
    (
        scaled(w=Quantization((0.5, 0.5), (0, 0), 0)),
        "the weights have 2 scales for 3 output channels",
    ),
    (
        scaled(w=Quantization((0.5, -1.0, 0.5), (0, 0, 0), 0)),
        "the scale of the weights is -1.0",
    ),
    (
        depthwise(weights=(2, 2, 2, 4)),
        "depthwise weights of shape 2x2x2x4 do not match an input of 2 channels",
    ),
    (
        depthwise(weights=(1, 2, 2, 3), bias=3),
        "depthwise weights of shape 1x2x2x3 do not match an input of 2 channels",
    ),
    (connected(x=(1, 9)), "weights for 8 inputs do not match an input of shape 1x9"),
    (
        connected(keep_dims=True, x=(1, 2, 4)),
        "weights for 8 inputs do not match an input of shape 1x2x4",
    ),
    (
        connected(scales=(PER_TENSOR, Quantization((0.5,), (200,)), PER_TENSOR)),
        "the zero point 200 of the weights is no int8 value",
    ),
    (
        connected(scales=(Quantization((1e30,), (0,)), Quantization((1e30,), (0,)), PER_TENSOR)),
        "the scales are out of range",
    ),
    (pool(inputs=2), "a pooling has one input and one output"),
    (pool(x=(4, 4, 2)), "the input should have rank 4, has rank 3"),
    (pool(window=(0, 2)), "window 0x2 is out of range"),
    (pool(padding=Padding2D(2, 0, 0, 0)), "a window lies wholly in the padding"),
    (pool(scales=(None, PER_TENSOR)), "the input has no scale"),
]
UNSUPPORTED: list[tuple[BoundOperator[Any], str]] = [
    (layer(types="uint8 uint8 int32 uint8"), "uint8"),
    (
        layer(
            "transpose_conv",
            TransposeConvAttributes((1, 1), (0, 0), (4, 4), Activation.NONE),
            types=HYBRID,
        ),
        "hybrid: int8 weights with float32 activations",
    ),
    (
        connected(types=HYBRID, scales=(None, Quantization((0.1,), (3,)), None)),
        "hybrid: weights with a zero point",
    ),
    (layer(types="int16 int16 int64 int16"), "int16"),
    (layer(types="int16 int8 int8 int16"), "int16 layer with int8 bias"),
    (
        layer(
            types="int16 int8 int64 int16",
            scales=(Quantization((0.5,), (3,)), PER_TENSOR, PER_TENSOR),
        ),
        "an int16 input with the zero point 3",
    ),
    (
        layer(
            types="int16 int8 int64 int16",
            scales=(PER_TENSOR, PER_TENSOR, Quantization((1e-6,), (0,))),
        ),
        "an output scale far below the input's",
    ),
    (layer(types="int8 int8 int64 int8"), "int8 layer with int64 bias"),
    (layer(types="float32 float32 int32 float32"), "float32 layer with int32 bias"),
    (layer(constant="b"), "weights that are not constant"),
    (layer(constant="w"), "a bias that is not constant"),
    (scaled(w=Quantization((0.5,), (1,))), "weights with a zero point"),
    (scaled(w=Quantization((0.5,) * 3, (0,) * 3, 3)), "weight scales along axis 3"),
    (
        connected(scales=(PER_TENSOR, Quantization((0.5,) * 3, (0, 1, 0), 0), PER_TENSOR)),
        "weights with a zero point",
    ),
    (pool(types="uint8 uint8"), "uint8"),
    (pool(types="int8 float32"), "int8 input, float32 output"),
    (
        pool(scales=(PER_TENSOR, Quantization((0.5,), (1,)))),
        "input and output of different quantisation",
    ),
    (
        pool(scales=(PER_TENSOR, Quantization((0.51,), (0,)))),
        "input and output of different quantisation",
    ),
]


@pytest.mark.parametrize(("bound", "text"), MALFORMED, ids=[text for _, text in MALFORMED])
def test_contradictions(bound: BoundOperator[Any], text: str) -> None:
    with pytest.raises(MalformedModelError) as caught:
        OPERATORS[bound.kind].infer(bound)
    assert caught.value.what == text
    assert caught.value.where == f"operator '{bound.name}' ({bound.kind})"


@pytest.mark.parametrize(("bound", "text"), UNSUPPORTED, ids=[text for _, text in UNSUPPORTED])
def test_refusals(bound: BoundOperator[Any], text: str) -> None:
    with pytest.raises(UnsupportedNodeError) as caught:
        OPERATORS[bound.kind].infer(bound)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("bound", "shape", "macs"),
    [
        (layer(), (1, 3, 3, 3), 3 * 3 * 3 * 8),
        (conv(stride=(2, 3), pad=(1, 0, 0, 1)), (1, 2, 2, 3), 2 * 2 * 3 * 8),
        (depthwise(), (1, 3, 3, 4), 3 * 3 * 4 * 4),
        (connected(x=(2, 2, 4)), (2, 3), 48),
        (connected(keep_dims=True, x=(2, 5, 8)), (2, 5, 3), 240),
        (pool(), (1, 2, 2, 2), 0),
    ],
)
def test_shapes_and_macs(bound: BoundOperator[Any], shape: tuple[int, ...], macs: int) -> None:
    assert list(OPERATORS[bound.kind].infer(bound)) == [(shape, DType.INT8)]
    shaped = replace(bound, outputs=(replace(bound.output, shape=shape),))
    assert OPERATORS[bound.kind].macs(shaped) == macs


# ---- Import from TFLite ----------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    options: Any
    index: int = 7
    from_uint8: bool = False


def table(name: str, **fields: int) -> Any:
    """An options object as the schema's generated class `name` answers."""
    return type(name, (), {k: staticmethod(lambda v=v: v) for k, v in fields.items()})()


WINDOW = {"StrideH": 1, "StrideW": 2, "Padding": 0, "FusedActivationFunction": 3}
CONV = {**WINDOW, "DilationHFactor": 2, "DilationWFactor": 1}
POOL = {**WINDOW, "FilterHeight": 3, "FilterWidth": 2}
FULLY = {"FusedActivationFunction": 2, "WeightsFormat": 0, "KeepNumDims": 1}
IMPORTS: list[tuple[str, BoundOperator[Any], str, dict[str, int], Attributes]] = [
    (
        "CONV_2D",
        layer(),
        "Conv2DOptions",
        CONV,
        Conv2DAttributes((1, 2), (2, 1), Padding2D(1, 0, 1, 0), Activation.RELU6),
    ),
    (
        "DEPTHWISE_CONV_2D",
        depthwise(),
        "DepthwiseConv2DOptions",
        {**CONV, "Padding": 1, "FusedActivationFunction": 1},
        DepthwiseConv2DAttributes((1, 2), (2, 1), Padding2D(), Activation.RELU),
    ),
    (
        "FULLY_CONNECTED",
        connected(),
        "FullyConnectedOptions",
        FULLY,
        FullyConnectedAttributes(Activation.RELU_N1_TO_1, keep_dims=True),
    ),
    (
        "MAX_POOL_2D",
        pool(),
        "Pool2DOptions",
        POOL,
        MaxPool2DAttributes((3, 2), (1, 2), Padding2D(1, 0, 1, 0), Activation.RELU6),
    ),
    (
        "AVERAGE_POOL_2D",
        replace(pool(), kind="average_pool_2d"),
        "Pool2DOptions",
        {**POOL, "Padding": 1, "FusedActivationFunction": 0},
        AveragePool2DAttributes((3, 2), (1, 2), Padding2D(), Activation.NONE),
    ),
]


def importer(bound: BoundOperator[Any]) -> Callable[[SourceNode], Any]:
    return OPERATORS[bound.kind].importers["tflite"][bound.kind.upper()]


@pytest.mark.parametrize(
    ("code", "bound", "name", "fields", "expected"), IMPORTS, ids=[i[0] for i in IMPORTS]
)
def test_import(
    code: str, bound: BoundOperator[Any], name: str, fields: dict[str, int], expected: Attributes
) -> None:
    assert list(OPERATORS[bound.kind].importers["tflite"]) == [code]
    imported = importer(bound)(Node(bound.inputs, bound.outputs, table(name, **fields)))
    assert imported.attributes == expected
    assert imported.inputs == bound.inputs


@pytest.mark.parametrize("bias", [(), (None,)], ids=["left out", "marked absent"])
def test_an_absent_bias_is_none(bias: tuple[None, ...]) -> None:
    bound = layer(bias=None)
    node = Node((*bound.inputs, *bias), bound.outputs, table("Conv2DOptions", **CONV))
    assert importer(bound)(node).inputs == (*bound.inputs, None)


def test_fully_connected_needs_no_options() -> None:
    bound = connected()
    imported = importer(bound)(Node(bound.inputs, bound.outputs, None))
    assert imported.attributes == FullyConnectedAttributes(Activation.NONE, keep_dims=False)


@pytest.mark.parametrize(
    ("bound", "name", "fields", "text"),
    [
        (layer(), "Conv2DOptions", {**CONV, "Padding": 2}, "padding scheme 2"),
        (layer(), "Conv2DOptions", {**CONV, "FusedActivationFunction": 4}, "fused tanh"),
        (pool(), "Pool2DOptions", {**POOL, "FusedActivationFunction": 9}, "fused activation 9"),
        (connected(), "FullyConnectedOptions", {**FULLY, "WeightsFormat": 1}, "shuffled weights"),
    ],
)
def test_import_refusals(
    bound: BoundOperator[Any], name: str, fields: dict[str, int], text: str
) -> None:
    with pytest.raises(UnsupportedNodeError) as caught:
        importer(bound)(Node(bound.inputs, bound.outputs, table(name, **fields)))
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("bound", "options", "text"),
    [
        (layer(), None, "the operator has no options"),
        (depthwise(), None, "the operator has no options"),
        (pool(), None, "the operator has no options"),
        (
            pool(x=(4, 2)),
            table("Pool2DOptions", **POOL),
            "the input should have rank 4, has rank 2",
        ),
        (
            layer(),
            table("Conv2DOptions", **{**CONV, "StrideH": 0}),
            "stride 0x2 is out of range",
        ),
    ],
)
def test_import_contradictions(bound: BoundOperator[Any], options: Any, text: str) -> None:
    with pytest.raises(MalformedModelError) as caught:
        importer(bound)(Node(bound.inputs, bound.outputs, options))
    assert caught.value.what == text
