"""DEPTHWISE_CONV_2D of one input channel: a plain convolution with as many outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.mve import conv_2d
from uhost.kernels.mve._channels import why_not_int8
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes


def _as_convolution(
    bound: BoundOperator[DepthwiseConv2DAttributes],
) -> BoundOperator[Conv2DAttributes]:
    """Returns the convolution with the same outputs; its weights have the channel first."""
    weights, a = bound.input(1), bound.attributes
    values = weights.constant().transpose(3, 1, 2, 0).copy()
    quantization = weights.quantization
    if quantization is not None and quantization.axis is not None:
        quantization = replace(quantization, axis=0)
    turned = replace(weights, shape=values.shape, values=values, quantization=quantization)
    inputs = (bound.inputs[0], turned, *bound.inputs[2:])
    attributes = Conv2DAttributes(a.stride, a.dilation, a.padding, a.activation)
    return BoundOperator(bound.name, "conv_2d", attributes, inputs, bound.outputs)


def _supports(bound: BoundOperator[Any]) -> str:
    if bound.input(0).shape[3] != 1:
        return "several input channels"
    return why_not_int8(bound) or conv_2d.KERNEL.supports(_as_convolution(bound))


def _lower(bound: BoundOperator[Any]) -> KernelCall:
    return conv_2d.KERNEL.lower(_as_convolution(bound))


def _cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    assert conv_2d.KERNEL.cost is not None
    return conv_2d.KERNEL.cost(_as_convolution(bound), call)


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("mve",), cost=_cost)
