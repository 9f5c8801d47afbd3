"""Random layers that a variant of the SIMD library is for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_elementwise import ELEMENTWISE, random_elementwise
from weighted_layers import PLAIN, Layer, layer

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.kernels._kernel import Kernel, KernelCall, library
from uhost.ops._op import Activation, Padding2D
from uhost.ops._weighted_examples import LayerStyle
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes
from uhost.ops.fully_connected import FullyConnectedAttributes
from uhost.ops.transpose_conv import TransposeConvAttributes

WEIGHTED = [
    stem
    for stem in library("dsp").names()
    if stem.startswith(("conv_2d", "depthwise_conv_2d", "fully_connected", "transpose_conv"))
]
ACTIVATIONS = tuple(Activation)
WINOGRAD_DEPTHS = (16, 16, 20, 24, 32, 36, 64, 80)
RECTIFIERS = (Activation.NONE, Activation.RELU, Activation.RELU, Activation.RELU6)


def random_layer(stem: str, rng: np.random.Generator, number: int) -> Layer:
    """Returns a layer of any shape the kernel is for; raises where the shapes do not fit."""

    def size(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    rectified = stem.endswith(("_rectified", "_narrow", "_small"))
    activation = (RECTIFIERS if rectified else ACTIVATIONS)[size(0, 3)]
    style = LayerStyle(
        per_channel=bool(rng.random() < 0.7),
        with_bias=bool(rng.random() < 0.9),
        numbers=str(rng.choice(["typical"] * 8 + ["extreme", "shifts"])),
        input_zero_point=size(-128, 127),
        output_zero_point=int(rng.choice([-128, 127, size(-128, 127)])),
    )
    if rectified:
        style = replace(style, numbers="typical")
        if activation is Activation.NONE:
            style = replace(style, output_zero_point=-128)
    unsigned = not style.per_channel and style.numbers == "typical" and rng.random() < 0.5
    if unsigned:
        style = replace(style, weight_zero_point=int(rng.choice([-128, 127, size(-40, 40)])))
    name = f"{stem}_{number}"
    stem = stem.removesuffix("_pipelined")
    if stem.endswith("_int16"):
        stem = stem.removesuffix("_int16")
        bias = DType.INT32 if rng.random() < 0.3 else DType.INT64
        style = replace(style, dtype=DType.INT16, bias=bias, weight_zero_point=0)
        unsigned = False
    plain = replace(PLAIN, activation=activation, unsigned=unsigned)
    pads = [size(0, 4) if rng.random() < 0.5 else 0 for _ in range(4)]
    if stem.startswith("fully_connected"):
        vectors, depth = (1 if rng.random() < 0.7 else size(2, 5)), size(1, 150)
        if stem == "fully_connected_uniform":
            vectors, style = 1, replace(style, per_channel=False)
        vector = FullyConnectedAttributes(activation, keep_dims=False)
        return layer("fully_connected", vector, (vectors, depth), (size(1, 30), depth), style, name)
    if stem == "conv_2d_pointwise":
        x = (size(1, 2), size(1, 6), size(1, 6), size(1, 70))
        return layer("conv_2d", plain, x, (size(1, 20), 1, 1, x[3]), style, name)
    if stem == "conv_2d_pointwise_small":
        x = (1, size(2, 6), size(1, 6), int(rng.choice([8, 16])))
        return layer("conv_2d", plain, x, (size(1, 20), 1, 1, x[3]), style, name)
    if stem == "conv_2d_winograd":
        depth, padding = (
            int(rng.choice(WINOGRAD_DEPTHS)),
            Padding2D(*[size(0, 2) for _ in range(4)]),
        )
        height = 2 * size(1, 4) + 2 - padding.top - padding.bottom
        width = 4 * size(1, 3) + 2 - padding.left - padding.right
        tiled = replace(plain, padding=padding)
        x, weights = (1, max(height, 1), max(width, 1), depth), (2 * size(1, 8), 3, 3, depth)
        return layer("conv_2d", tiled, x, weights, style, name)
    if stem == "conv_2d_grouped":
        groups, depth = size(2, 5), int(rng.choice([1, 2, 3, 4, 7, 8, 16]))
        x = (1, size(1, 7), size(1, 7), groups * depth)
        dilation = (size(1, 2), size(1, 2)) if rng.random() < 0.3 else (1, 1)
        apart = replace(
            plain, stride=(size(1, 3), size(1, 3)), dilation=dilation, padding=Padding2D(*pads)
        )
        weights = (groups * size(1, 7), size(1, 4), size(1, 4), depth)
        return layer("conv_2d", apart, x, weights, style, name)
    if stem in ("conv_2d", "conv_2d_gathered", "conv_2d_gathered_framed"):
        x = (1, size(1, 8), size(1, 8), int(rng.choice([1, 2, 3, 4, 7, 8, 12])))
        dilation = (size(1, 3), size(1, 3)) if rng.random() < 0.3 else (1, 1)
        any_conv = Conv2DAttributes(
            (size(1, 4), size(1, 4)), dilation, Padding2D(*pads), activation, unsigned
        )
        window = (size(1, 5), size(1, 5))
        if stem == "conv_2d_gathered":
            any_conv = replace(any_conv, dilation=(1, 1))
            x = (*x[:3], size(1, 4))
            window = (size(1, 5), size(-(-4 // x[3]), 5))
        if stem == "conv_2d_gathered_framed":
            sides = [size(0, 4) for _ in range(3)]
            any_conv = replace(any_conv, dilation=(1, 1), padding=Padding2D(size(1, 4), *sides))
            x = (*x[:3], size(1, 4))
        return layer("conv_2d", any_conv, x, (size(1, 14), *window, x[3]), style, name)
    if stem == "transpose_conv":
        x = (1, size(1, 6), size(1, 6), int(rng.choice([1, 2, 3, 4, 7, 8, 16])))
        window, strides = (size(1, 5), size(1, 5)), (size(1, 4), size(1, 4))
        # From cut on all sides to outputs that nothing reaches.
        image = tuple(
            max((x[1 + i] - 1) * strides[i] + window[i] - pads[i] - pads[i + 2] + size(-1, 1), 1)
            for i in range(2)
        )
        turned = TransposeConvAttributes(
            strides, (pads[0], pads[1]), (image[0], image[1]), activation
        )
        style = replace(style, weight_zero_point=0)
        return layer("transpose_conv", turned, x, (size(1, 10), *window, x[3]), style, name)
    inputs, multiplier, dilation = size(1, 11), 1, (1, 1)
    if stem == "depthwise_conv_2d_one_input":
        inputs, multiplier = 1, size(1, 11)
    if name.startswith("depthwise_conv_2d_int16"):
        x, window = (1, size(1, 9), size(1, 9), inputs), (size(1, 6), size(1, 6))
        strides = (size(1, 3), size(1, 3))
        dilation = (size(1, 3), size(1, 3)) if rng.random() < 0.3 else (1, 1)
        wider = DepthwiseConv2DAttributes(strides, dilation, Padding2D(*pads), activation)
        return layer("depthwise_conv_2d", wider, x, (1, *window, inputs), style, name)
    if stem == "depthwise_conv_2d" and rng.random() < 0.3:
        multiplier = size(2, 3)
    x = (1, size(1, 11), size(1, 11), inputs)
    window, strides = (size(1, 6), size(1, 6)), (size(1, 4), size(1, 4))
    if stem == "depthwise_conv_2d_3x3":
        window, strides = (3, 3), (size(1, 2), size(1, 3))
    if stem == "depthwise_conv_2d_strips":
        window, strides, inputs = (size(1, 9), size(1, 9)), (size(1, 2), size(1, 3)), size(4, 11)
        longest = 40 if rng.random() < 0.2 else 13
        x = (1, size(1, longest), size(1, longest), inputs)
        if rng.random() < 0.3:
            window, dilation = (size(1, 4), size(1, 4)), (size(1, 3), size(1, 3))
        if rng.random() < 0.5:
            activation = Activation.RELU
            style = replace(style, output_zero_point=-128, weight_zero_point=0)
            plain, unsigned = replace(plain, activation=activation, unsigned=False), False
    if stem.startswith("depthwise_conv_2d_3x3_rectified"):
        window, strides, inputs = (3, 3), (size(1, 2), size(1, 3)), size(4, 11)
        longest = 60 if rng.random() < 0.2 else 13
        x = (1, size(1, longest), size(1, longest), inputs)
    if stem == "depthwise_conv_2d_direct":
        window, inputs, activation = (size(1, 5), size(1, 5)), 4 * size(1, 5), Activation.NONE
        x = (*x[:3], inputs)
    lines = DepthwiseConv2DAttributes(strides, dilation, Padding2D(*pads), activation, unsigned)
    return layer("depthwise_conv_2d", lines, x, (1, *window, inputs * multiplier), style, name)


def random_calls(stem: str, count: int, seed: int) -> list[tuple[Layer, KernelCall]]:
    kernel: Kernel = library("dsp")[stem]
    rng = np.random.default_rng(seed)
    found: list[tuple[Layer, KernelCall]] = []
    tried = 0
    while len(found) < count:
        tried += 1
        try:
            if stem in ELEMENTWISE:
                bound = random_elementwise(stem, rng)
            else:
                bound = random_layer(stem, rng, tried)
        except MalformedModelError:  # the window is larger than the padded image
            continue
        if not kernel.supports(bound):
            found.append((bound, kernel.lower(bound)))
    # Layers of extreme numbers are refused at times; that must stay the exception.
    assert tried < 3 * count
    return found
