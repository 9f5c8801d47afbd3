"""Small graphs for the examples of operators that run graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._elementwise import NoAttributes
from uhost.ops.add import AddAttributes
from uhost.ops.assign_variable import AssignVariableAttributes


def _reals(name: str, count: int, values: Array | None = None) -> Tensor:
    return Tensor(name, (count,), DType.FLOAT32, None, values)


def _graph(
    name: str,
    tensors: Sequence[Tensor],
    operators: Sequence[tuple[str, Attributes, tuple[str, ...], tuple[str, ...]]],
    ends: tuple[tuple[str, ...], tuple[str, ...]],
    states: Mapping[str, Array],
) -> Graph:
    made = tuple(
        Operator(f"{kind}_{n}", kind, inputs, outputs, attributes)
        for n, (kind, attributes, inputs, outputs) in enumerate(operators)
    )
    return Graph(name, {tensor.name: tensor for tensor in tensors}, made, *ends, states)


def halves(name: str, *, swap: bool) -> Graph:
    """Returns a graph of two vectors: their sum and the first, or the second and a constant."""
    a, b = _reals("a", 4), _reals("b", 4)
    if swap:
        two = _reals("two", 4, np.full(4, 2.0, np.float32))
        return _graph(name, [a, b, two], [], (("a", "b"), ("b", "two")), {})
    add = ("add", AddAttributes(), ("a", "b"), ("c",))
    return _graph(name, [a, b, _reals("c", 4)], [add], (("a", "b"), ("c", "a")), {})


def accumulate(start: Array) -> Graph:
    """Returns a graph that adds its input to the state `sum`, which is the result."""
    tensors = [_reals(name, start.size) for name in ("x", "sum", "total")]
    add = ("add", AddAttributes(), ("x", "sum"), ("total",))
    keep = ("assign_variable", AssignVariableAttributes(), ("total",), ("sum",))
    return _graph("then", tensors, [add, keep], (("x",), ("total",)), {"sum": start})


def passed() -> Graph:
    """Returns a graph whose result is its input."""
    return _graph("otherwise", [_reals("x", 3)], [], (("x",), ("x",)), {})


def is_below(limit: float) -> Graph:
    """Returns a graph of two values: the first is below the limit."""
    most = _reals("limit", 1, np.full(1, limit, np.float32))
    answer = Tensor("answer", (1,), DType.BOOL)
    tensors = [_reals("n", 1), _reals("x", 3), most, answer]
    less = ("less", NoAttributes(), ("n", "limit"), ("answer",))
    return _graph("condition", tensors, [less], (("n", "x"), ("answer",)), {})


def raised() -> Graph:
    """Returns a graph of two values that adds a constant to the first, and that to the second."""
    step = _reals("step", 1, np.full(1, 1.25, np.float32))
    tensors = [_reals("n", 1), _reals("x", 3), step, _reals("m", 1), _reals("y", 3)]
    adds = [
        ("add", AddAttributes(), ("n", "step"), ("m",)),
        ("add", AddAttributes(), ("x", "m"), ("y",)),
    ]
    return _graph("body", tensors, adds, (("n", "x"), ("m", "y")), {})
