"""Takes channels out of a graph: tensors, weights, biases and scales together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, Graph, Operator
from uhost.ir.tensor import Quantization, Tensor
from uhost.numerics.fixed_point import wrap_int32
from uhost.ops._interval import Interval
from uhost.ops._op import OPERATORS
from uhost.ops._weighted import weight_zero_point

Mask = NDArray[np.bool_]


def operand_masks(bound: BoundOperator[Any], outputs: Mask) -> list[Mask]:
    """Returns the part of the output's channel mask that belongs to each operand.

    The operator works channel by channel, or joins its inputs' channels.
    """
    kind = OPERATORS[bound.kind]
    operands = kind.operands(bound)
    if not kind.joins_channels(bound):
        return [outputs for _ in operands]
    ends = np.cumsum([tensor.shape[-1] for tensor in operands])
    return np.split(outputs, ends[:-1])


def keep_channels(graph: Graph, kept: Mapping[str, Mask], known: Mapping[str, Interval]) -> Graph:
    """Returns the graph with the channels that `kept` marks, of every tensor it names.

    Constants of a removed channel's readers are changed so that every kept value stays
    what it was; `known` gives the value of removed channels that are constant.
    """
    tensors = dict(graph.tensors)
    for name, mask in kept.items():
        if not mask.all():
            shape = (*tensors[name].shape[:-1], int(mask.sum()))
            tensors[name] = replace(tensors[name], shape=shape)
    operators: list[Operator] = []
    for operator, bound in zip(graph.operators, graph.bound_operators(), strict=True):
        masks = [kept.get(t.name) for t in (*bound.inputs, *bound.outputs) if t is not None]
        if all(mask is None or mask.all() for mask in masks):
            operators.append(operator)
            continue
        constants = _constants(bound, kept, known)
        tensors.update({tensor.name: tensor for tensor in constants.values()})
        absent = max(constants, default=0) + 1 - len(operator.inputs)
        inputs = [*operator.inputs, *[""] * absent]
        for index, tensor in constants.items():
            inputs[index] = tensor.name
        operators.append(replace(operator, inputs=tuple(inputs)))
    return graph.with_operators(tuple(operators), tensors)


def _constants(
    bound: BoundOperator[Any], kept: Mapping[str, Mask], known: Mapping[str, Interval]
) -> dict[int, Tensor]:
    """Returns input index → constant of the operator without the channels that go."""
    outputs = kept.get(bound.output.name, np.ones(bound.output.shape[-1:], bool))
    kind = OPERATORS[bound.kind]
    if kind.joins_channels(bound):
        return {
            index: _take(bound, tensor, mask, axis=-1)
            for index, (tensor, mask) in enumerate(
                zip(kind.operands(bound), operand_masks(bound, outputs), strict=True)
            )
            if tensor.is_constant
        }
    if not kind.is_contraction(bound):
        return {
            index: _take(bound, tensor, outputs, axis=-1)
            for index, tensor in enumerate(bound.inputs)
            if tensor is not None and tensor.is_constant
        }
    x = bound.input(0)
    inputs = kept.get(x.name, np.ones(x.shape[-1], bool))
    weights, bias = bound.input(1), bound.optional_input(2)
    terms = weights.constant().astype(np.int64) - weight_zero_point(bound)
    gone = terms[..., ~inputs]
    # Of a channel that no weight reads the value does not matter.
    values = (known[x.name].low - x.zero_point)[~inputs]
    share = (gone * values).sum(tuple(range(1, gone.ndim)))
    before = np.zeros(weights.shape[0], np.int64)
    if bias is not None:
        before = bias.constant().astype(np.int64).reshape(-1)
    total = wrap_int32(before + share).astype(np.int32)
    folded = Tensor(f"{bound.output.name}.bias", total.shape, DType.INT32, values=total)
    if bias is not None and bias.quantization is not None:
        folded = replace(folded, quantization=bias.quantization)
    narrow = _take(bound, weights, inputs, axis=-1)
    return {
        1: _take(bound, narrow, outputs, axis=0),
        2: _take(bound, folded, outputs, axis=0),
    }


def _take(bound: BoundOperator[Any], tensor: Tensor, mask: Mask, axis: int) -> Tensor:
    """Returns a constant with the marked indices of one axis, under a name of its own."""
    if tensor.shape[axis : axis + 1 or None] != mask.shape:
        return tensor
    values = np.ascontiguousarray(np.compress(mask, tensor.constant(), axis))
    quantization = tensor.quantization
    if quantization is not None and quantization.axis == axis % len(tensor.shape):
        scales = [s for s, keep in zip(quantization.scale, mask, strict=True) if keep]
        zeros = quantization.zero_point
        if len(zeros) == len(mask):
            zeros = tuple(z for z, keep in zip(zeros, mask, strict=True) if keep)
        quantization = Quantization(tuple(scales), zeros, quantization.axis)
    name = tensor.name if tensor.name.startswith(bound.output.name) else ""
    name = name or f"{bound.output.name}.{tensor.name}"
    return Tensor(name, values.shape, tensor.dtype, quantization, values)
