"""Random layers for the libraries of C, of the type that a kernel is for: int8 or float32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from random_elementwise import POOLS
from weighted_layers import Layer, layer

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.kernels._kernel import library
from uhost.ops._examples import quantized, real
from uhost.ops._op import OPERATORS, Activation, Padding2D
from uhost.ops._weighted_examples import LayerStyle
from uhost.ops.add import AddAttributes
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes
from uhost.ops.fully_connected import FullyConnectedAttributes

KINDS = (
    "add",
    "average_pool_2d",
    "conv_2d",
    "depthwise_conv_2d",
    "fully_connected",
    "max_pool_2d",
)
KERNELS = [
    (name, stem)
    for name in ("reference", "fpu")
    for stem in library(name).names()
    # The hybrid kernel takes float activations with int8 weights: another family of layers.
    if library(name)[stem].operator in KINDS and not stem.endswith("_hybrid")
]
ACTIVATIONS = tuple(Activation)


def random_layers(library_name: str, stem: str, count: int, seed: int) -> list[Layer]:
    """Returns `count` layers that the kernel takes."""
    kernel = library(library_name)[stem]
    rng = np.random.default_rng(seed)
    dtype = DType.FLOAT32 if library_name == "fpu" else DType.INT8
    found: list[Layer] = []
    tried = 0
    while len(found) < count:
        tried += 1
        # Some shapes fit no window, some numbers no short form: that must stay the smaller part.
        assert tried < 4 * count + 20
        try:
            bound = _draw(kernel.operator, dtype, rng, f"{stem}_{tried}")
        except MalformedModelError:  # the window does not fit
            continue
        if not kernel.supports(bound):
            found.append(bound)
    return found


def _draw(kind: str, dtype: DType, rng: np.random.Generator, name: str) -> Layer:
    def size(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    activation = ACTIVATIONS[size(0, len(ACTIVATIONS) - 1)]
    style = LayerStyle(
        dtype=dtype,
        per_channel=bool(rng.random() < 0.7),
        with_bias=bool(rng.random() < 0.8),
        numbers=str(rng.choice(["typical"] * 8 + ["extreme", "shifts"])),
        input_zero_point=int(rng.choice([-128, 127, size(-128, 127)])),
        output_zero_point=int(rng.choice([-128, 127, size(-128, 127)])),
    )
    if kind == "fully_connected":
        rows, depth = (1 if rng.random() < 0.5 else size(2, 6)), size(1, 90)
        attributes = FullyConnectedAttributes(activation, keep_dims=False)
        return layer(kind, attributes, (rows, depth), (size(1, 35), depth), style, name)
    if kind == "add":
        return _addition(dtype, activation, rng, name)
    pads = Padding2D(*[size(0, 4) if rng.random() < 0.5 else 0 for _ in range(4)])
    window, stride = (size(1, 6), size(1, 6)), (size(1, 4), size(1, 4))
    dilation = (size(1, 3), size(1, 3)) if rng.random() < 0.3 else (1, 1)
    image = (1 if rng.random() < 0.7 else 2, size(1, 9), size(1, 9))
    if kind in POOLS:
        return _pool(kind, dtype, (*image, size(1, 19)), (window, stride, pads, activation), name)
    if kind == "depthwise_conv_2d":
        inputs, times = size(1, 13), (1 if rng.random() < 0.6 else size(2, 4))
        depthwise = DepthwiseConv2DAttributes(stride, dilation, pads, activation)
        return layer(kind, depthwise, (*image, inputs), (1, *window, inputs * times), style, name)
    if rng.random() < 0.3:
        window, stride, dilation, pads = (1, 1), (1, 1), (1, 1), Padding2D()
    groups = size(2, 3) if rng.random() < 0.15 else 1
    depth = size(1, 12)
    conv = Conv2DAttributes(stride, dilation, pads, activation)
    weights = (groups * size(1, 11), *window, depth)
    return layer(kind, conv, (*image, groups * depth), weights, style, name)


def _addition(dtype: DType, activation: Activation, rng: np.random.Generator, name: str) -> Layer:
    shape = tuple(int(n) for n in rng.integers(1, 8, int(rng.integers(1, 4))))
    other = shape if rng.random() < 0.8 else shape[-1:]
    shapes = (("a", shape), ("b", other), ("sum", shape))
    tensors: list[Tensor] = []
    for part, extent in shapes:
        if dtype is DType.FLOAT32:
            tensors.append(real(part, extent))
        else:
            scale, zero = rng.uniform(0.01, 0.1), int(rng.integers(-128, 128))
            tensors.append(quantized(part, extent, scale, zero))
    return BoundOperator(
        name, "add", AddAttributes(activation), tuple(tensors[:2]), tuple(tensors[2:])
    )


def _pool(
    kind: str, dtype: DType, shape: tuple[int, ...], fields: tuple[Any, ...], name: str
) -> Layer:
    def tensor(part: str, extent: tuple[int, ...]) -> Tensor:
        if dtype is DType.FLOAT32:
            return real(part, extent)
        return quantized(part, extent, 0.05, -7)

    bound: Layer = BoundOperator(
        name, kind, POOLS[kind](*fields), (tensor("x", shape),), (tensor("y", (1, 1, 1, 1)),)
    )
    [(extent, _)] = OPERATORS[kind].infer(bound)
    return replace(bound, outputs=(tensor("y", extent),))
