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

Layer = BoundOperator[Any]
ELEMENTWISE = ("add", "average_pool_2d", "max_pool_2d")
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
    rows, columns = (int(n) for n in rng.integers(1, 12, 2))
    window = int(rng.integers(1, rows + 1)), int(rng.integers(1, columns + 1))
    stride = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    return pool(kind, (1, rows, columns, int(rng.integers(4, 30))), window, stride, activation)
