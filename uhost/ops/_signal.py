"""What the operators of TFLite Micro's signal library share: options, states, examples.

They are custom operators: a file names them, and their options are the scalars of a FlexBuffers
map. Every attribute has the name of its option.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from flatbuffers import flexbuffers

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import Example, Imported, SourceNode
from uhost.ops._tflite import malformed

A = TypeVar("A", bound=Attributes)

OPTIONS_DAMAGED = (
    AssertionError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    struct.error,
)
"""What reading options that are no sound FlexBuffers map raises."""


def signal_options(node: SourceNode, names: Sequence[str]) -> dict[str, int]:
    """Returns the integers (a boolean is 0 or 1) that a node's options give the names.

    Raises `MalformedModelError` where the options are no map of integers or lack a name.
    """
    if not names:
        return {}
    content = node.options if isinstance(node.options, bytes) else b""
    try:
        options = flexbuffers.GetRoot(content).AsMap
        return {name: int(options[name].AsInt) for name in names}
    except KeyError as error:
        raise malformed(node, f"the operator's options lack {error}") from error
    except OPTIONS_DAMAGED as error:
        raise malformed(node, f"the operator's options cannot be read: {error}") from error


def read_attributes(node: SourceNode, attributes: type[A]) -> A:
    """Returns the attributes of class `attributes`, each field from the option of its name."""
    described = fields(attributes)  # type: ignore[arg-type]  # every one is a dataclass
    options = signal_options(node, [field.name for field in described])
    booleans = [field.name for field in described if field.type in ("bool", bool)]
    return attributes(**options | {name: bool(options[name]) for name in booleans})


def signal_import(node: SourceNode, attributes: Attributes, inputs: int, outputs: int) -> Imported:
    """Returns the imported form of an operator of so many inputs and outputs, all present."""
    if len(node.inputs) != inputs or len(node.outputs) != outputs or None in node.inputs:
        raise malformed(
            node, f"the operator has {len(node.inputs)} inputs and {len(node.outputs)} outputs"
        )
    return Imported(attributes, node.inputs)


def with_states(imported: Imported, states: Mapping[Tensor, Array]) -> Imported:
    """Returns the imported operator with states of its own behind its inputs and outputs."""
    kept = tuple(states)
    return Imported(imported.attributes, (*imported.inputs, *kept), updates=kept, states=states)


def state_tensors(output: Tensor, states: Mapping[str, Array]) -> dict[Tensor, Array]:
    """Returns a state per role, named after the operator's first output; none of no elements."""
    return {
        Tensor(f"{output.name}_{role}", values.shape, DType(str(values.dtype))): values
        for role, values in states.items()
        if values.size
    }


def inconsistent(bound: BoundOperator[Any], what: str) -> MalformedModelError:
    """Returns the error that an operator's tensors and options contradict each other."""
    return MalformedModelError(what, where=f"operator '{bound.name}' ({bound.kind})")


def check_state(bound: BoundOperator[Any], index: int, shape: tuple[int, ...]) -> Tensor:
    """Returns state `index` of the inputs after checking that its shape is `shape`."""
    state = bound.input(index)
    if state.shape != shape:
        raise inconsistent(bound, f"the state is {list(state.shape)}, not {list(shape)}")
    return state


def rows_of(tensor: Tensor) -> int:
    """Returns how many rows of the last axis a tensor has."""
    return math.prod(tensor.shape[:-1])


def signal_example(
    name: str,
    kind: str,
    attributes: Attributes,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    states: Mapping[str, Array] | None = None,
) -> Example:
    """Returns an example; `states` are initial values by role."""
    kept = state_tensors(outputs[0], states or {})
    read, written = (*inputs, *kept), (*outputs, *kept)
    operator = Operator(
        kind, kind, tuple(t.name for t in read), tuple(t.name for t in written), attributes
    )
    feeds = tuple(tensor.name for tensor in inputs if not tensor.is_constant)
    graph = Graph(
        name,
        {tensor.name: tensor for tensor in (*read, *written)},
        (operator,),
        feeds,
        tuple(tensor.name for tensor in outputs),
        {tensor.name: values for tensor, values in kept.items()},
    )
    return Example(name, graph, (str(inputs[0].dtype),))


def saturate_int16(values: Array) -> Array:
    """Returns integers clamped to int16."""
    limits = np.iinfo(np.int16)
    return np.clip(values, limits.min, limits.max).astype(np.int16)
