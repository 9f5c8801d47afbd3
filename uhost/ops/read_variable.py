"""The values of a state as a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator, Graph, Operator
from uhost.ir.tensor import Array
from uhost.ops._movement import example_tensor, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import check_counts
from uhost.ops.assign_variable import AssignVariableAttributes


@dataclass(frozen=True, slots=True)
class ReadVariableAttributes(Attributes):
    """Nothing: the only input is the state."""


def _infer(bound: BoundOperator[ReadVariableAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    state, output = bound.input(0), bound.output
    require_moved(state, output)
    if state.shape != output.shape:
        raise MalformedModelError(
            f"the variable has the shape {list(state.shape)}, what is read {list(output.shape)}",
            where=f"operator '{bound.name}' (read_variable)",
        )
    return [(state.shape, state.dtype)]


def _reference(
    bound: BoundOperator[ReadVariableAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    state = inputs[0]
    assert state is not None
    return [state.copy()]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(ReadVariableAttributes(), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    # What is read before the assignment is the value of the run before.
    for dtype in (DType.INT8, DType.FLOAT32, DType.INT32):
        shape = (2, 3)
        state, new = example_tensor("state", shape, dtype), example_tensor("new", shape, dtype)
        old = example_tensor("old", shape, dtype)
        operators = (
            Operator("read", "read_variable", ("state",), ("old",), ReadVariableAttributes()),
            Operator("assign", "assign_variable", ("new",), ("state",), AssignVariableAttributes()),
        )
        initial = np.arange(6).reshape(shape).astype(dtype.numpy)
        tensors = {tensor.name: tensor for tensor in (state, new, old)}
        graph = Graph(str(dtype), tensors, operators, ("new",), ("old",), {"state": initial})
        yield Example(str(dtype), graph)


OPERATOR = OperatorKind(
    name="read_variable",
    attributes=ReadVariableAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"READ_VARIABLE": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    is_view=True,
)
