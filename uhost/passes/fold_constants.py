"""Computes at compile time every operator whose inputs are all constants.

Shapes computed in the graph are constants too: an operator that reads the shapes of its
inputs alone is computed whatever their values will be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from uhost.config.pass_context import PassContext
from uhost.ir.graph import CallingAttributes, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import OPERATORS, checked


@dataclass(frozen=True, slots=True)
class FoldConstants:
    """Replaces operators on constants by their results, which the exact reference gives.

    An operator that makes an output of the graph or writes a state stays: both are memory
    that is written. One that runs graphs stays too.
    """

    opt_level: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ()

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module with constant operators folded."""
        return module.map_graphs(_fold)


def _fold(graph: Graph) -> Graph:
    tensors = dict(graph.tensors)
    kept: list[Operator] = []
    for operator in graph.operators:
        kind = OPERATORS[operator.kind]
        sources = [tensors[name] for name in operator.inputs if name]
        is_known = kind.reads_shapes or all(tensor.is_constant for tensor in sources)
        is_output = any(name in graph.outputs or name in graph.states for name in operator.outputs)
        runs_graphs = isinstance(operator.attributes, CallingAttributes)  # may never end
        if is_output or runs_graphs or not sources or not is_known:
            kept.append(operator)
            continue
        bound = replace(graph, tensors=tensors).bind(operator)
        arrays = [_values(tensors[name]) if name else None for name in operator.inputs]
        results = kind.reference(bound, arrays)
        for name, result in zip(operator.outputs, results, strict=True):
            tensors[name] = replace(tensors[name], values=checked(tensors[name], result))
    return graph.with_operators(tuple(kept), tensors)


def _values(tensor: Tensor) -> Array:
    """Returns a constant's values, and zeros for a tensor of which only the shape is read."""
    if tensor.is_constant:
        return tensor.constant()
    return np.broadcast_to(np.zeros((), tensor.dtype.numpy), tensor.shape)


PASS = FoldConstants
