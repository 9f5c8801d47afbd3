"""Variables of TensorFlow Lite models as states of the graph.

There are two kinds. A variable tensor is an input that an operator (LSTM, SVDF) changes in
place. A resource variable is known by a name: VAR_HANDLE makes a handle of it, which
READ_VARIABLE and ASSIGN_VARIABLE take, in any subgraph; CALL_ONCE names the subgraph that
gives it values before the first run. Here handles are resolved, so that the two operators
name the state itself, and VAR_HANDLE and CALL_ONCE are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uhost.errors import MalformedModelError, UnsupportedOperatorError
from uhost.frontends._flatbuffer import DAMAGED
from uhost.frontends._import import INCONSISTENT, fresh_name
from uhost.frontends._node import Declared, Node
from uhost.frontends._tflite_tensors import TensorTable, text
from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Tensor

CALL_ONCE, VAR_HANDLE = "CALL_ONCE", "VAR_HANDLE"
READ, ASSIGN = "READ_VARIABLE", "ASSIGN_VARIABLE"

_CALLS = {
    CALL_ONCE: ("InitSubgraphIndex",),
    "IF": ("ThenSubgraphIndex", "ElseSubgraphIndex"),
    "WHILE": ("CondSubgraphIndex", "BodySubgraphIndex"),
}

_Pick = Callable[[int, str], Declared]


@dataclass(frozen=True, slots=True)
class SourceOperator:
    """One operator as the file has it: tensors by index."""

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any
    place: str
    intermediates: tuple[int, ...] = ()

    def node(self, tensor: Callable[[int, str], Declared]) -> Node:
        """Returns the operator with `tensor` applied to its indices; input -1 is absent."""
        return Node(
            self.index,
            self.name,
            tuple(tensor(i, self.place) if i != -1 else None for i in self.inputs),
            tuple(tensor(i, self.place) for i in self.outputs),
            self.options,
            self.place,
            declared_intermediates=tuple(
                tensor(i, self.place) if i != -1 else None for i in self.intermediates
            ),
        )


def called_subgraphs(source: SourceOperator) -> tuple[int, ...]:
    """Returns the subgraphs that an operator calls."""
    names = _CALLS.get(source.name, ())
    if not names:
        return ()
    if not all(hasattr(source.options, name) for name in names):
        raise MalformedModelError(
            f"{source.name} has no options of its own", where=source.place, fix=DAMAGED
        )
    return tuple(int(getattr(source.options, name)()) for name in names)


def initial_subgraph(source: SourceOperator) -> int:
    """Returns the subgraph that a CALL_ONCE calls."""
    return called_subgraphs(source)[0]


def refuse_call_once(sources: Sequence[SourceOperator]) -> None:
    """Raises `UnsupportedOperatorError` where a subgraph that is called calls one once."""
    for source in sources:
        if source.name == CALL_ONCE:
            raise UnsupportedOperatorError(
                "CALL_ONCE stands in a subgraph that is called itself",
                where=source.place,
                fix="export the model again: the converter puts CALL_ONCE into the model",
            )


class Variables:
    """The resource variables that some operators name, and the states they are."""

    def __init__(self, sources: Sequence[SourceOperator]) -> None:
        self._name_of: dict[tuple[str, str], str] = {}
        self._tensors: dict[str, Tensor] = {}
        self.initial: dict[str, Array] = {}
        for source in sources:
            if source.name == VAR_HANDLE:
                key = _key(source)
                taken = self._name_of.values()
                self._name_of.setdefault(key, fresh_name(key[1], len(taken), taken))

    @property
    def names(self) -> frozenset[str]:
        """The names of the states."""
        return frozenset(self._name_of.values())

    def are_in(self, sources: Sequence[SourceOperator]) -> bool:
        """True if any of the operators touches a variable."""
        return any(source.name in (READ, ASSIGN) for source in sources)

    def declare(self, sources: Sequence[SourceOperator], tensor: _Pick) -> None:
        """Learns shape and type of the variables from the values read and assigned."""
        handles = self._handles(sources)
        for source in sources:
            if source.name not in (READ, ASSIGN):
                continue
            name, value = self._access(source, handles, tensor)
            if not isinstance(value, Tensor):
                continue  # the operator's importer says why it is refused
            known = self._tensors.get(name)
            found = Tensor(name, value.shape, value.dtype, value.quantization)
            if known is None:
                self._tensors[name] = found
                self.initial[name] = _unassigned(found)
            elif (known.shape, known.dtype) != (found.shape, found.dtype):
                raise MalformedModelError(
                    f"the variable '{name}' is {known} here and {found} there",
                    where=source.place,
                    fix=INCONSISTENT,
                )
            elif source.name == ASSIGN and found.quantization != known.quantization:
                # An unassigned variable holds the zero point of what will be stored.
                self._tensors[name] = found
                self.initial[name] = _unassigned(found)

    def resolve(self, sources: Sequence[SourceOperator], tensor: _Pick) -> Iterator[Node]:
        """Yields the nodes of a subgraph's operators, without handles and CALL_ONCE."""
        handles = self._handles(sources)
        touched = False
        for source in sources:
            if source.name == VAR_HANDLE:
                continue
            if source.name == CALL_ONCE:
                if touched or (source.index != 0 and not _begins(sources, source)):
                    raise _late(source)
                continue
            node = source.node(tensor)
            if source.name in (READ, ASSIGN):
                touched = True
                name, value = self._access(source, handles, tensor)
                state = self._tensors.get(name, value)
                ends = ((state,), (value,)) if source.name == READ else ((value,), (state,))
                node = Node(node.index, node.operator, *ends, node.options, node.place)
            yield node

    def states(self, table: TensorTable) -> dict[str, tuple[Tensor, Array]]:
        """Returns the states that a subgraph can name, with their initial values."""
        own = [t for t in table.tensors if isinstance(t, Tensor) and t.name in table.variables]
        return {
            **{tensor.name: (tensor, _blank(tensor)) for tensor in own},
            **{name: (tensor, self.initial[name]) for name, tensor in self._tensors.items()},
        }

    def _handles(self, sources: Sequence[SourceOperator]) -> dict[int, str]:
        """Returns tensor index → state, for the handles of one subgraph."""
        return {
            output: self._name_of[_key(source)]
            for source in sources
            if source.name == VAR_HANDLE
            for output in source.outputs
        }

    def _access(
        self, source: SourceOperator, handles: dict[int, str], tensor: _Pick
    ) -> tuple[str, Declared]:
        """Returns the state that an operator touches, and the tensor that has its value."""
        is_read = source.name == READ
        counts = (len(source.inputs), len(source.outputs))
        if counts != ((1, 1) if is_read else (2, 0)):
            raise MalformedModelError(
                f"{source.name} has {counts[0]} inputs and {counts[1]} outputs",
                where=source.place,
                fix=INCONSISTENT,
            )
        if source.inputs[0] not in handles:
            raise MalformedModelError(
                f"{source.name} takes a handle that no VAR_HANDLE of its subgraph makes",
                where=source.place,
                fix="export the model with its variables frozen, or with a current converter",
            )
        index = source.outputs[0] if is_read else source.inputs[1]
        return handles[source.inputs[0]], tensor(index, source.place)


def _key(source: SourceOperator) -> tuple[str, str]:
    """Returns the container and the name by which a VAR_HANDLE knows its variable."""
    options: Any = source.options
    if not hasattr(options, "SharedName"):
        raise MalformedModelError("VAR_HANDLE names no variable", where=source.place, fix=DAMAGED)
    return text(options.Container()), text(options.SharedName())


def _blank(tensor: Tensor) -> Array:
    """Returns what TFLite Micro fills a variable tensor with: int8 with the zero point, else 0."""
    zero_point = 0
    if tensor.dtype is DType.INT8 and tensor.quantization is not None:
        zero_point = tensor.quantization.zero_point[0]
    return np.full(tensor.shape, zero_point, tensor.dtype.numpy)


def _unassigned(tensor: Tensor) -> Array:
    """Returns what TFLite Micro fills a resource variable with that nothing was assigned to.

    Every byte is the lowest byte of the zero point (`memset`), whatever the type.
    """
    zero_point = tensor.quantization.zero_point[0] if tensor.quantization is not None else 0
    content = np.full(tensor.size_bytes, zero_point & 0xFF, np.uint8)
    return content.view(tensor.dtype.numpy).reshape(tensor.shape)


def _begins(sources: Sequence[SourceOperator], source: SourceOperator) -> bool:
    """True if only handles and other CALL_ONCE stand before the operator."""
    return all(one.name in (CALL_ONCE, VAR_HANDLE) for one in sources[: source.index])


def _late(source: SourceOperator) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(
        "CALL_ONCE comes after operators that may use the variables it sets",
        where=source.place,
        fix="export the model again: the converter puts CALL_ONCE first",
    )
