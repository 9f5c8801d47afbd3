"""A state takes the values of a tensor; the only output is the state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator, Graph, Operator
from uhost.ir.tensor import Array
from uhost.ops._movement import ANY_TYPE, example_tensor, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class AssignVariableAttributes(Attributes):
    """Nothing to choose."""


def _infer(
    bound: BoundOperator[AssignVariableAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    value, state = bound.input(0), bound.output
    require_moved(value, state)
    if state.shape != value.shape:
        raise MalformedModelError(
            f"the variable has the shape {list(state.shape)}, its new value {list(value.shape)}",
            where=f"operator '{bound.name}' (assign_variable)",
        )
    return [(value.shape, value.dtype)]


def _reference(
    bound: BoundOperator[AssignVariableAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    value = inputs[0]
    assert value is not None
    return [value.copy()]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(AssignVariableAttributes(), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    for dtype in ANY_TYPE:
        shape = (2, 5)
        tensors = {n: example_tensor(n, shape, dtype) for n in ("value", "state")}
        operator = Operator(
            "assign", "assign_variable", ("value",), ("state",), AssignVariableAttributes()
        )
        states = {"state": np.zeros(shape, dtype.numpy)}
        graph = Graph(str(dtype), tensors, (operator,), ("value",), ("state",), states)
        yield Example(str(dtype), graph)


OPERATOR = OperatorKind(
    name="assign_variable",
    attributes=AssignVariableAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"ASSIGN_VARIABLE": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
)
