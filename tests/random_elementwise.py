"""Random elementwise and pooling layers that a kernel of the SIMD library is for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Quantization, Tensor
from uhost.ops._op import OPERATORS, Activation, Padding2D
from uhost.ops._pooling import PoolAttributes
from uhost.ops.add import AddAttributes
from uhost.ops.average_pool_2d import AveragePool2DAttributes
from uhost.ops.max_pool_2d import MaxPool2DAttributes
from uhost.ops.mul import MulAttributes
from uhost.ops.softmax import OUTPUT_SCALE, OUTPUT_ZERO_POINT, SoftmaxAttributes

Layer = BoundOperator[Any]
ELEMENTWISE = ("add", "average_pool_2d", "max_pool_2d", "mul", "softmax")
ACTIVATIONS = tuple(Activation)
POOLS: dict[str, type[PoolAttributes]] = {
    "average_pool_2d": AveragePool2DAttributes,
    "max_pool_2d": MaxPool2DAttributes,
}


def tensor(name: str, shape: tuple[int, ...], scale: float, zero_point: int) -> Tensor:
    return Tensor(name, shape, DType.INT8, Quantization((float(np.float32(scale)),), (zero_point,)))


def add(
    size: int,
    scales: tuple[float, float, float],
    zero_points: tuple[int, int, int] = (-128, 4, -128),
    activation: Activation = Activation.NONE,
) -> Layer:
    first, second, output = (
        tensor(name, (1, size), scale, zero)
        for name, scale, zero in zip(("a", "b", "sum"), scales, zero_points, strict=True)
    )
    return BoundOperator("add", "add", AddAttributes(activation), (first, second), (output,))


def mul(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    scales: tuple[float, float, float] = (0.05, 0.031, 0.07),
    zero_points: tuple[int, int, int] = (3, -11, 5),
    activation: Activation = Activation.NONE,
) -> Layer:
    output = tuple(np.broadcast_shapes(*shapes))
    first, second, product = (
        tensor(name, shape, scale, zero)
        for name, shape, scale, zero in zip(
            ("a", "b", "product"), (*shapes, output), scales, zero_points, strict=True
        )
    )
    return BoundOperator("mul", "mul", MulAttributes(activation), (first, second), (product,))


def softmax(shape: tuple[int, ...], scale: float, beta: float = 1.0) -> Layer:
    x = tensor("x", shape, scale, 4)
    y = tensor("y", shape, OUTPUT_SCALE, OUTPUT_ZERO_POINT)
    return BoundOperator("softmax", "softmax", SoftmaxAttributes(beta), (x,), (y,))


def pool(
    kind: str,
    shape: tuple[int, int, int, int],
    window: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    activation: Activation = Activation.NONE,
    padding: Padding2D | None = None,
) -> Layer:
    attributes = POOLS[kind](window, stride, padding or Padding2D(), activation)
    image = tensor("image", shape, 0.05, 3)
    bound: Layer = BoundOperator(kind, kind, attributes, (image,), (image,))
    found, _ = OPERATORS[kind].infer(bound)[0]
    return replace(bound, outputs=(replace(image, name="pooled", shape=found),))


def random_elementwise(kind: str, rng: np.random.Generator) -> Layer:
    activation = ACTIVATIONS[int(rng.integers(len(ACTIVATIONS)))]
    if kind == "add":
        a, b, c = (2.0 ** rng.uniform(-6, -3, 3)).tolist()
        zeros = [int(z) for z in rng.integers(-128, 128, 3)]
        zero_points = zeros[0], zeros[1], zeros[2]
        return add(int(rng.integers(1, 70)), (a, b, c), zero_points, activation)
    if kind == "mul":
        a, b, c = (2.0 ** rng.uniform(-9, -2, 3)).tolist()
        zeros = [int(z) for z in rng.integers(-128, 128, 3)]
        leading, elements = int(rng.choice([1, 1, 2, 5])), int(rng.integers(4, 70))
        shapes = [(leading, elements), (elements,) if rng.random() < 0.5 else (leading, elements)]
        if rng.random() < 0.5:
            shapes.reverse()
        return mul((shapes[0], shapes[1]), (a, b, c), (zeros[0], zeros[1], zeros[2]), activation)
    if kind == "softmax":
        shape = int(rng.integers(1, 7)), int(rng.choice([1, 2, 3, 10, 35, 600]))
        return softmax(shape, 2.0 ** float(rng.uniform(-14, 2)), float(rng.choice([1.0, 0.3])))
    rows, columns = (int(n) for n in rng.integers(1, 12, 2))
    window = int(rng.integers(1, rows + 1)), int(rng.integers(1, columns + 1))
    stride = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    return pool(kind, (1, rows, columns, int(rng.integers(4, 30))), window, stride, activation)
