"""Weighted int8 layers for the tests of kernels: drawn numbers, any shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._op import OPERATORS, Activation, Padding2D
from uhost.ops._weighted_examples import LayerStyle, layer_example
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes
from uhost.ops.fully_connected import FullyConnectedAttributes

NO_PADDING = Padding2D()
PLAIN = Conv2DAttributes((1, 1), (1, 1), NO_PADDING, Activation.NONE)
DEPTHWISE = DepthwiseConv2DAttributes((1, 1), (1, 1), NO_PADDING, Activation.NONE)
VECTOR = FullyConnectedAttributes(Activation.NONE, keep_dims=False)
Layer = BoundOperator[Any]


def layer(
    kind: str,
    attributes: Any,
    x: tuple[int, ...],
    weights: tuple[int, ...],
    style: LayerStyle | None = None,
    name: str = "layer",
) -> Layer:
    axis = 3 if kind == "depthwise_conv_2d" else 0
    infer: Callable[[Layer], Any] = OPERATORS[kind].infer
    style = style or LayerStyle()
    graph = layer_example(name, kind, attributes, x, weights, axis, infer, style).graph
    return next(graph.bound_operators())


def with_constant(bound: Layer, index: int, values: Array) -> Layer:
    inputs = list(bound.inputs)
    inputs[index] = replace(bound.input(index), values=values)
    return replace(bound, inputs=tuple(inputs))


def expected(bound: Layer, *inputs: Array) -> Array:
    """Returns the output for the inputs that are no constants, in their order."""
    constants = [t.constant() if t is not None else None for t in bound.inputs[len(inputs) :]]
    result: Array = OPERATORS[bound.kind].reference(bound, [*inputs, *constants])[0]
    return result


def conv(x: tuple[int, ...], weights: tuple[int, ...], **changes: Any) -> Layer:
    style = changes.pop("style", None)
    return layer("conv_2d", replace(PLAIN, **changes), x, weights, style)


def depthwise(x: tuple[int, ...], weights: tuple[int, ...], **changes: Any) -> Layer:
    style = changes.pop("style", None)
    return layer("depthwise_conv_2d", replace(DEPTHWISE, **changes), x, weights, style)
