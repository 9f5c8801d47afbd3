"""Random layers by every kernel of the Helium library, exact and within their buffers."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helium_kernels import COMPILERS, Case, run_all
from numpy.typing import NDArray
from weighted_layers import VECTOR, Layer, conv, depthwise, expected, layer, with_constant

from uhost.errors import UhostError
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Quantization, Tensor
from uhost.kernels._kernel import library
from uhost.ops._op import OPERATORS, Activation, Padding2D, UnsupportedNodeError
from uhost.ops._pooling import PoolAttributes
from uhost.ops._weighted_examples import INT16, INT16_NARROW, LayerStyle
from uhost.ops.softmax import SoftmaxAttributes
from uhost.ops.transpose_conv import TransposeConvAttributes

COUNT = 20
"""Layers per kernel and compiler."""
FULL_COUNT, PART = 360, 60
"""Layers per kernel in all, and in one image."""
_LARGEST = 16_000

Random = np.random.Generator


def style(rng: Random) -> LayerStyle:
    return LayerStyle(output_zero_point=int(rng.choice([-128, -128, -3, 127])))


def activation(rng: Random) -> Activation:
    kinds = (Activation.NONE, Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1)
    return kinds[int(rng.integers(len(kinds)))]


def size(rng: Random, most: int) -> int:
    """Draws small sizes as often as large ones."""
    return int(rng.integers(1, rng.integers(1, most + 1) + 1))


def window(rng: Random, most: int) -> dict[str, Any]:
    rows, columns = (int(n) for n in rng.integers(1, most + 1, 2))
    same = Padding2D(*(int(n) for n in rng.integers(0, (rows, rows, columns, columns))))
    return {
        "window": (rows, columns),
        "stride": (size(rng, 4), size(rng, 4)),
        "padding": same if rng.integers(2) else Padding2D(),
    }


def pointwise_layer(rng: Random) -> Layer:
    depth, channels = size(rng, 90), size(rng, 40)
    image = (size(rng, 2), size(rng, 7), size(rng, 7), depth)
    return conv(image, (channels, 1, 1, depth), activation=activation(rng), style=style(rng))


def conv_layer(rng: Random) -> Layer:
    depth, channels = size(rng, 40), size(rng, 24)
    w = window(rng, 6)
    rows, columns = w.pop("window")
    dilation = (size(rng, 3), 1) if rng.integers(2) else (1, 1)
    image = (1, size(rng, 14), size(rng, 14), depth)
    return conv(
        image,
        (channels, rows, columns, depth),
        dilation=dilation,
        activation=activation(rng),
        style=style(rng),
        **w,
    )


def gathered_layer(rng: Random) -> Layer:
    depth, groups = size(rng, 24), size(rng, 4)
    w = window(rng, 4)
    rows, columns = w.pop("window")
    return conv(
        (size(rng, 2), size(rng, 12), size(rng, 12), depth * groups),
        (size(rng, 10) * groups, rows, columns, depth),
        dilation=(size(rng, 3), size(rng, 3)),
        activation=activation(rng),
        style=style(rng),
        **w,
    )


def depthwise_layer(rng: Random) -> Layer:
    channels = size(rng, 30)
    w = window(rng, 4)
    rows, columns = w.pop("window")
    dilation = (size(rng, 2), size(rng, 2)) if rng.integers(3) == 0 else (1, 1)
    image = (1, size(rng, 14), size(rng, 14), channels)
    return depthwise(
        image,
        (1, rows, columns, channels),
        dilation=dilation,
        activation=activation(rng),
        style=style(rng),
        **w,
    )


def channels_layer(rng: Random) -> Layer:
    inputs, multiplier = size(rng, 20), size(rng, 4)
    w = window(rng, 5)
    rows, columns = w.pop("window")
    return depthwise(
        (size(rng, 2), size(rng, 14), size(rng, 14), inputs),
        (1, rows, columns, inputs * multiplier),
        dilation=(size(rng, 3), size(rng, 3)),
        activation=activation(rng),
        style=style(rng),
        **w,
    )


def one_input_layer(rng: Random) -> Layer:
    w = window(rng, 10)
    return depthwise(
        (1, size(rng, 30), size(rng, 30), 1),
        (1, *w.pop("window"), size(rng, 12)),
        activation=activation(rng),
        style=style(rng),
        **w,
    )


def vector_layer(rng: Random) -> Layer:
    depth, channels = size(rng, 300), size(rng, 40)
    attributes = replace(VECTOR, activation=activation(rng))
    batch = 1 if rng.integers(2) else size(rng, 5)
    return layer("fully_connected", attributes, (batch, depth), (channels, depth), style(rng))


def int16_style(rng: Random) -> LayerStyle:
    return INT16_NARROW if rng.integers(2) else INT16


def int16_layer(rng: Random) -> Layer:
    w = window(rng, 4)
    depth = size(rng, 20)
    return conv(
        (1, size(rng, 10), size(rng, 10), depth),
        (size(rng, 12), *w.pop("window"), depth),
        dilation=(size(rng, 3), 1),
        activation=activation(rng),
        style=int16_style(rng),
        **w,
    )


def int16_vector_layer(rng: Random) -> Layer:
    depth, channels = size(rng, 200), size(rng, 30)
    attributes = replace(VECTOR, activation=activation(rng))
    shapes = (size(rng, 5), depth), (channels, depth)
    return layer("fully_connected", attributes, *shapes, int16_style(rng))


def transposed_layer(rng: Random) -> Layer:
    """Returns one of any size of output: short of its windows, as they end, or going on."""
    depth, channels, rows, columns = size(rng, 20), size(rng, 12), size(rng, 8), size(rng, 8)
    window = size(rng, 6), size(rng, 6)
    stride = size(rng, 4), size(rng, 4)
    before = tuple(int(rng.integers(n)) for n in window)
    whole = [(n - 1) * stride[i] + window[i] for i, n in enumerate((rows, columns))]
    image = tuple(max(1, int(whole[i] - before[i] + rng.integers(-3, 3))) for i in range(2))
    attributes = TransposeConvAttributes(
        stride, (before[0], before[1]), (image[0], image[1]), activation(rng)
    )
    x = (size(rng, 2), rows, columns, depth)
    return layer("transpose_conv", attributes, x, (channels, *window, depth), style(rng))


def pool_layer(kind: str, rng: Random) -> Layer:
    w = window(rng, 6)
    image = (size(rng, 2), size(rng, 14), size(rng, 14), size(rng, 40))
    if rng.integers(4) == 0:  # of the whole image
        w |= {"window": image[1:3], "padding": Padding2D()}
    attributes = PoolAttributes(**w, activation=activation(rng))
    quantization = Quantization((0.05,), (int(rng.choice([-128, 0, 11])),))
    x = Tensor("input", image, DType.INT8, quantization)
    rough = BoundOperator("pool", kind, attributes, (x,), (replace(x, name="output"),))
    shape, _ = OPERATORS[kind].infer(rough)[0]
    return replace(rough, outputs=(replace(rough.output, shape=shape),))


def softmax_layer(rng: Random) -> Layer:
    shape = (size(rng, 5), size(rng, 300))
    scale = float(np.float32(2.0 ** rng.uniform(-14, 4)))
    x = Tensor("input", shape, DType.INT8, Quantization((scale,), (0,)))
    output = Tensor("output", shape, DType.INT8, Quantization((1 / 256,), (-128,)))
    bound = BoundOperator("softmax", "softmax", SoftmaxAttributes(), (x,), (output,))
    OPERATORS["softmax"].infer(bound)
    return bound


def lookup_layer(kind: str, rng: Random) -> Layer:
    example = next(
        e.graph
        for e in OPERATORS[kind].examples()
        if {t.dtype.size_bytes for t in e.graph.tensors.values()} == {1}
    )
    plain = next(example.bound_operators())
    shape = (size(rng, 300),)

    def drawn(tensor: Tensor) -> Tensor:
        zero_point = int(rng.integers(-100, 100)) if tensor.dtype is DType.INT8 else 77
        scale = float(np.float32(2.0 ** rng.uniform(-6, 0)))
        return replace(tensor, shape=shape, quantization=Quantization((scale,), (zero_point,)))

    x = drawn(plain.input(0))
    output = drawn(plain.output)
    if rng.integers(2):
        output = replace(output, quantization=x.quantization)
    return replace(plain, inputs=(x,), outputs=(output,))


def pairwise_layer(kind: str, rng: Random) -> Layer:
    """Returns a sum or a product, of tensors of one shape or of any that broadcast."""
    example = next(e for e in OPERATORS[kind].examples() if e.name == "int8").graph
    plain = next(example.bound_operators())
    shape = tuple(size(rng, 9) for _ in range(rng.integers(1, 5)))
    shapes = [shape, shape]
    if rng.integers(2):
        shapes = [tuple(n if rng.integers(3) else 1 for n in shape) for _ in range(2)]
        shapes[1] = shapes[1][int(rng.integers(len(shape) + 1)) :]
    shapes.append(tuple(np.broadcast_shapes(*shapes)))
    tensors = []
    for tensor, drawn in zip((*plain.inputs, *plain.outputs), shapes, strict=True):
        assert tensor is not None
        scale = float(np.float32(2.0 ** rng.uniform(-5, 0)))
        quantization = Quantization((scale,), (int(rng.integers(-128, 128)),))
        tensors.append(replace(tensor, shape=drawn, quantization=quantization))
    attributes = replace(plain.attributes, activation=activation(rng))
    bound = replace(plain, attributes=attributes, inputs=tuple(tensors[:2]))
    bound = replace(bound, outputs=(tensors[2],))
    OPERATORS[kind].infer(bound)
    return bound


def extreme(bound: Layer, rng: Random) -> Layer:
    """Sometimes all weights at the ends of int8, and biases that reach the last bits."""
    if len(bound.inputs) == 1 or not bound.input(1).is_constant:
        return bound
    weights = bound.input(1)
    if rng.integers(4) == 0:
        ends = rng.choice(np.asarray([-128, 127], np.int8), weights.shape)
        bound = with_constant(bound, 1, ends)
    bias = bound.optional_input(2)
    if bias is not None and rng.integers(4) == 0:
        limit = 2**30 if rng.integers(2) else 2**16
        bound = with_constant(
            bound, 2, rng.integers(-limit, limit, bias.shape).astype(bias.dtype.numpy)
        )
    return bound


LAYERS: dict[str, Callable[[Random], Layer]] = {
    "conv_2d_pointwise": pointwise_layer,
    "conv_2d": conv_layer,
    "conv_2d_gathered": gathered_layer,
    "conv_2d_int16": int16_layer,
    "depthwise_conv_2d": depthwise_layer,
    "depthwise_conv_2d_channels": channels_layer,
    "depthwise_conv_2d_one_input": one_input_layer,
    "transpose_conv": transposed_layer,
    "fully_connected": vector_layer,
    "fully_connected_int16": int16_vector_layer,
    "max_pool_2d": partial(pool_layer, "max_pool_2d"),
    "average_pool_2d": partial(pool_layer, "average_pool_2d"),
    "softmax": softmax_layer,
    "add": partial(pairwise_layer, "add"),
    "mul": partial(pairwise_layer, "mul"),
    "relu": partial(lookup_layer, "relu"),
    "relu6": partial(lookup_layer, "relu6"),
    "relu_n1_to_1": partial(lookup_layer, "relu_n1_to_1"),
    "quantize": partial(lookup_layer, "quantize"),
}


def cases(stem: str, count: int, seed: int) -> Iterator[tuple[Layer, Case]]:
    kernel = library("mve")[stem]
    rng = np.random.default_rng([zlib.crc32(stem.encode()), seed])
    found = total = 0
    while found < count:
        try:
            bound = extreme(LAYERS[stem](rng), rng)
        except (UhostError, UnsupportedNodeError, ValueError):
            continue  # a window that does not fit the image, or scales too far apart
        if kernel.supports(bound):
            continue
        x: NDArray[Any] = rng.integers(-128, 128, bound.input(0).shape, dtype=np.int8)
        if bound.input(0).dtype is DType.INT16:
            x = rng.integers(-(2**15), 2**15, x.shape, dtype=np.int16)
        if rng.integers(8) == 0:
            limits = np.iinfo(x.dtype)
            x = rng.choice(np.asarray([limits.min, limits.max], x.dtype), x.shape)
        inputs = [x.view(bound.input(0).dtype.numpy)]
        for tensor in bound.inputs[1:]:
            if tensor is not None and not tensor.is_constant:
                inputs.append(rng.integers(-128, 128, tensor.shape, dtype=np.int8))
        call = kernel.lower(bound)
        total = x.nbytes + call.scratch_bytes + sum(c.values.nbytes for c in call.constants)
        if total > _LARGEST:
            continue
        found += 1
        yield bound, Case(call, tuple(inputs), bound.output.size_bytes)


def check(stem: str, count: int, seed: int, compiler: str, folder: Path) -> None:
    drawn = list(cases(stem, count, seed))
    results = run_all([case for _, case in drawn], compiler, folder)
    for number, ((bound, case), result) in enumerate(zip(drawn, results, strict=True)):
        exact = expected(bound, *case.inputs).reshape(-1)
        shapes = (number, [t and t.shape for t in bound.inputs], bound.attributes)
        assert np.array_equal(result, exact.view(np.int8)), shapes


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("stem", LAYERS)
def test_random_layers(stem: str, compiler: str, tmp_path: Path) -> None:
    check(stem, COUNT, list(COMPILERS).index(compiler), compiler, tmp_path)


@pytest.mark.full
@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("part", range(FULL_COUNT // PART))
@pytest.mark.parametrize("stem", LAYERS)
def test_every_random_layer(stem: str, part: int, tmp_path: Path) -> None:
    check(stem, PART, 10 + part, list(COMPILERS)[part % 2], tmp_path)
