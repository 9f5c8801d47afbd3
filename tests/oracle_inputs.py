"""Inputs for which references are compared with other interpreters."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
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
        if bound.kind == "gather" and bound.input(1).name in drawn:
            size = bound.input(0).shape[bound.attributes.axis]
            drawn[bound.input(1).name] %= size
    return drawn
