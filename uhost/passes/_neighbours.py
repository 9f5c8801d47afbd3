"""Who reads a tensor, and what a rewritten operator would make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from uhost.errors import MalformedModelError
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Tensor
from uhost.ops._op import OPERATORS, UnsupportedNodeError


def reader_counts(graph: Graph) -> Counter[str]:
    """Returns tensor → how many read it: operators, whoever takes outputs, the next run."""
    counts: Counter[str] = Counter((*graph.outputs, *graph.states))
    for operator in graph.operators:
        counts.update({name for name in operator.inputs if name})
    return counts


def is_sound(operator: Operator, tensors: Mapping[str, Tensor]) -> bool:
    """True if the operator takes these tensors and makes just its outputs of them."""
    bound = Graph("", tensors, (operator,), (), ()).bind(operator)
    try:
        made = OPERATORS[operator.kind].infer(bound)
    except (UnsupportedNodeError, MalformedModelError):
        return False
    return [(tensor.shape, tensor.dtype) for tensor in bound.outputs] == list(made)
