"""Random inputs of a graph, always the same for one seed."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array


def random_inputs(graph: Graph, seed: int) -> list[Array]:
    """Returns an array per graph input: whole range for integers, standard normal for floats."""
    generator = np.random.default_rng(seed)
    inputs: list[Array] = []
    for tensor in (graph.tensors[name] for name in graph.inputs):
        if tensor.dtype is DType.FLOAT32:
            inputs.append(generator.standard_normal(tensor.shape).astype(np.float32))
        elif tensor.dtype is DType.BOOL:
            inputs.append(generator.integers(0, 2, tensor.shape).astype(np.bool_))
        else:
            low, high = tensor.dtype.limits
            wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
            drawn = generator.integers(low, high, tensor.shape, wide, endpoint=True)
            inputs.append(drawn.astype(tensor.dtype.numpy))
    return inputs
