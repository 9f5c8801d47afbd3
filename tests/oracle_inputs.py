"""Inputs for which references are compared with other interpreters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, Graph
from uhost.ir.tensor import Array, Tensor

RUNS = ("lowest", "highest", "random 1", "random 2", "random 3")


def draw(tensor: Tensor, run: str, random: np.random.Generator) -> Array:
    if tensor.dtype is DType.BOOL:
        if run in ("lowest", "highest"):
            return np.full(tensor.shape, run == "highest")
        return random.integers(0, 2, tensor.shape).astype(np.bool_)
    if not tensor.dtype.is_integer:
        if run in ("lowest", "highest"):
            return np.full(tensor.shape, -1e4 if run == "lowest" else 1e4, np.float32)
        return random.normal(0.0, 3.0, tensor.shape).astype(np.float32)
    limits = np.iinfo(tensor.dtype.value)
    if run in ("lowest", "highest"):
        value = limits.min if run == "lowest" else limits.max
        return np.full(tensor.shape, value, tensor.dtype.numpy)
    return random.integers(limits.min, limits.max, tensor.shape, tensor.dtype.numpy, endpoint=True)


def draw_all(graph: Graph, run: str, random: np.random.Generator) -> dict[str, Array]:
    """Returns an array per input of a graph; indices are such that interpreters take them."""
    drawn = {name: draw(graph.tensors[name], run, random) for name in graph.inputs}
    for bound in graph.bound_operators():
        for index, sizes in _limits(bound).items():
            name = bound.input(index).name
            if name in drawn:
                array = drawn[name]
                drawn[name] = (array % np.array(sizes)).astype(array.dtype).reshape(array.shape)
        if bound.kind == "detection_postprocess":  # boxes of a size that is neither 0 nor infinite
            drawn[bound.input(0).name] = np.clip(drawn[bound.input(0).name], -20, 20)
        if bound.kind == "broadcast_args":
            drawn |= _broadcast(bound, random)
        if bound.kind == "rsqrt" and bound.input(0).quantization is not None:
            # A negative number ends the run.
            name = bound.input(0).name
            drawn[name] = np.maximum(drawn[name], bound.input(0).zero_point)
    return drawn


def _limits(bound: BoundOperator[Any]) -> dict[int, Sequence[int]]:
    """Returns the inputs that are indices, and what is above the largest of each axis."""
    if bound.kind == "gather":
        return {1: bound.input(0).shape[bound.attributes.axis :][:1]}
    if bound.kind == "embedding_lookup":
        return {0: bound.input(1).shape[:1]}
    if bound.kind == "gather_nd":
        return {1: bound.input(0).shape[: bound.input(1).shape[-1]]}
    if bound.kind == "scatter_nd":
        return {0: bound.output.shape[: bound.input(0).shape[-1]]}
    return {}


def _broadcast(bound: BoundOperator[Any], random: np.random.Generator) -> dict[str, Array]:
    """Returns two shapes that broadcast."""
    result = random.integers(1, 9, bound.output.elements)
    shapes = {}
    for tensor in (bound.input(0), bound.input(1)):
        shapes[tensor.name] = result[-tensor.elements :].astype(tensor.dtype.numpy)
    ones = random.random(bound.output.elements) < 0.4
    for place in np.flatnonzero(ones):
        shape = shapes[bound.input(int(random.integers(2))).name]
        if place >= len(result) - len(shape):
            shape[place - len(result)] = 1
    return shapes
