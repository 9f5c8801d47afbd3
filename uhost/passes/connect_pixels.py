"""Makes a convolution of one pixel a FULLY_CONNECTED.

A convolution whose window is one element, over an image of one pixel, is the product of a
weight matrix and a vector. FULLY_CONNECTED has kernels for that which need not look for
neighbours, and readers then see what it is.

TFLite forms the output factors of the two kinds differently where the weights have one
scale, so that they can differ in the last bit; then the convolution stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from uhost.config.pass_context import PassContext
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Tensor
from uhost.ops._op import Padding2D
from uhost.ops._weighted import factor_per_channel
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.fully_connected import FullyConnectedAttributes
from uhost.passes._neighbours import is_sound


@dataclass(frozen=True, slots=True)
class ConnectPixels:
    """Keeps shapes, names and biases: the output is still an image of one pixel."""

    opt_level: ClassVar[int] = 2
    after: ClassVar[tuple[str, ...]] = ("fold_constant_channels",)

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module without convolutions of one pixel."""
        return module.map_graphs(_connect)


def _connect(graph: Graph) -> Graph:
    tensors = dict(graph.tensors)
    operators: list[Operator] = []
    for operator, bound in zip(graph.operators, graph.bound_operators(), strict=True):
        if operator.kind != "conv_2d" or not _is_of_one_pixel(bound):
            operators.append(operator)
            continue
        matrix = _matrix(bound)
        connected = replace(
            operator,
            kind="fully_connected",
            inputs=(operator.inputs[0], matrix.name, *operator.inputs[2:]),
            attributes=FullyConnectedAttributes(bound.attributes.activation, keep_dims=True),
        )
        candidates = {**tensors, matrix.name: matrix}
        made = replace(graph, tensors=candidates).bind(connected)
        if is_sound(connected, candidates) and _has_same_factors(bound, made):
            tensors = candidates
            operators.append(connected)
        else:
            operators.append(operator)
    return graph.with_operators(tuple(operators), tensors)


def _is_of_one_pixel(bound: BoundOperator[Conv2DAttributes]) -> bool:
    image, weights = bound.input(0).shape, bound.input(1).shape
    is_pixel = image[1:3] == weights[1:3] == (1, 1) and image[3] == weights[3]
    return is_pixel and bound.attributes.padding == Padding2D()


def _matrix(bound: BoundOperator[Conv2DAttributes]) -> Tensor:
    """Returns the weights as (outputs, inputs), under a name of their own."""
    weights = bound.input(1)
    values = weights.constant().reshape(weights.shape[0], weights.shape[3])
    name = f"{bound.output.name}.{weights.name}.matrix"
    return replace(weights, name=name, shape=values.shape, values=values)


def _has_same_factors(one: BoundOperator[Any], other: BoundOperator[Any]) -> bool:
    if one.output.dtype is DType.FLOAT32:
        return True
    return np.array_equal(factor_per_channel(one), factor_per_channel(other))


PASS = ConnectPixels
