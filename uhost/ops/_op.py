"""What an operator file defines: meaning, shapes, exact reference, importers, examples.

A file `uhost/ops/NAME.py` declares a frozen attributes dataclass and
`OPERATOR = OperatorKind(name="NAME", …)`. Nothing else needs to know it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.registry import Registry

A = TypeVar("A", bound=Attributes)


class Activation(enum.Enum):
    """A fused activation function."""

    NONE = "none"
    RELU = "relu"
    RELU6 = "relu6"
    RELU_N1_TO_1 = "relu_n1_to_1"

    @property
    def bounds(self) -> tuple[float, float]:
        """The real interval that results are clamped to."""
        infinity = float("inf")
        return {
            Activation.NONE: (-infinity, infinity),
            Activation.RELU: (0.0, infinity),
            Activation.RELU6: (0.0, 6.0),
            Activation.RELU_N1_TO_1: (-1.0, 1.0),
        }[self]

    def whole(self, limits: tuple[int, int]) -> tuple[int, int]:
        """Returns the interval in whole numbers within `limits`: that of unquantised integers."""
        low, high = self.bounds
        return (
            int(max(low, limits[0])) if math.isfinite(low) else limits[0],
            int(min(high, limits[1])) if math.isfinite(high) else limits[1],
        )

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Padding2D:
    """Elements of implicit zero padding on each side, in rows and columns."""

    top: int = 0
    left: int = 0
    bottom: int = 0
    right: int = 0

    def __str__(self) -> str:
        return f"{self.top},{self.left},{self.bottom},{self.right}"


class SourceNode(Protocol):
    """One operator of a model file, as a frontend shows it to an importer."""

    @property
    def index(self) -> int:
        """Position in the file."""

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        """Input tensors; None where an optional one is absent."""

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Output tensors."""

    @property
    def options(self) -> Any:
        """The format's own options object for the node; None where the file has none."""

    @property
    def from_uint8(self) -> bool:
        """True if the int8 tensors are uint8 in the file, where every number is 128 more."""


@runtime_checkable
class CallingNode(SourceNode, Protocol):
    """A node of a format in which operators call other graphs, or name tensors between steps."""

    @property
    def subgraph(self) -> Callable[[int], Graph]:
        """Imports and returns graph number n of the file."""

    @property
    def variables(self) -> Mapping[str, Tensor]:
        """The states that all graphs of the file share, by name."""

    @property
    def kept(self) -> frozenset[str]:
        """The tensors of the node's own graph that last from run to run."""

    @property
    def intermediates(self) -> tuple[Tensor | None, ...]:
        """Tensors that are never stored: their quantisation is what the operator computes in."""


class UnsupportedNodeError(Exception):
    """Raised by an importer or a check: the reason this node cannot be taken, in a few words."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an importer makes of a node: attributes, and which inputs the operator keeps.

    `updates` are the states among the inputs that the operator changes: they become its last
    outputs. `states` maps further states, of which the file knows nothing, to their initial
    values. `output_shape` is that of the first output, where the attributes do not say it and
    the file may leave it open.
    """

    attributes: Attributes
    inputs: tuple[Tensor | None, ...]
    updates: tuple[Tensor, ...] = ()
    states: Mapping[Tensor, Array] = field(default_factory=dict)
    output_shape: tuple[int, ...] | None = None


Importer = Callable[[SourceNode], Imported]
"""Returns the imported form; raises `UnsupportedNodeError` with the reason or
`MalformedModelError`."""


@dataclass(frozen=True, slots=True)
class Example:
    """A small case of an operator: a graph of one operator, and how to draw its inputs.

    `tags` name what is special about it ("per_channel", "odd_channels").
    """

    name: str
    graph: Graph
    tags: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class OperatorKind(Generic[A]):
    """Everything uhost knows of one operator.

    `infer` returns (shape, dtype) of every output and raises `UnsupportedNodeError` for types or
    ranks the operator does not take. `reference` takes the input arrays (None where
    absent) and returns the output arrays, exact to the named numerics. `macs` counts
    multiply-accumulates. `importers` is format → name in that format → importer.
    `is_view` is true where the output is the input's bytes under another shape, and
    `is_copy` for an operator that in this place gives the first input's bytes in their
    order, whatever they are. `reads_shapes`: the outputs depend on the inputs' shapes alone.

    Channels are indices of the last axis. `operands` are the inputs that carry values
    through, without weights and bias. `interval` returns the `ops._interval.Interval` of
    the int8 output from those of the operands; without it nothing is known.
    `is_channelwise`: channel c of the output depends on channel c of every input alone,
    constants with a last axis of that length included. `is_contraction`: the output's
    channels are sums over the first input's channels, with weights (output channel, ...,
    input channel) and a bias. `is_expansion`: each output channel is made of the whole
    input by itself, with constants whose last axis counts output channels.
    `joins_channels`: the output's channels are those of the inputs, one after the other.

    `rows` returns the `ops._rows.Rows` of an operator that makes its output row by row, else None.

    `takes_uint8`: on uint8 tensors it computes what it computes on int8 ones of numbers and zero
    points less 128, by LiteRT's rules, given the attributes that its importer makes of a node
    with `from_uint8`. `folds_at_import`: on constants it is computed when the file is read, as
    its readers may need to see constants.

    `by_litert` is true for an operator that TFLite Micro lacks, or lacks for these types: its
    results are those of LiteRT's reference kernels. That uint8 is one of them goes without saying.
    """

    name: str
    attributes: type[A]
    infer: Callable[[BoundOperator[A]], Sequence[tuple[tuple[int, ...], DType]]]
    reference: Callable[[BoundOperator[A], Sequence[Array | None]], Sequence[Array]]
    importers: Mapping[str, Mapping[str, Importer]]
    examples: Callable[[], Iterable[Example]]
    macs: Callable[[BoundOperator[A]], int] = lambda bound: 0
    is_view: bool = False
    is_copy: Callable[[BoundOperator[A]], bool] = lambda bound: False
    reads_shapes: bool = False
    interval: Callable[[BoundOperator[A], Sequence[Any]], Any] | None = None
    operands: Callable[[BoundOperator[A]], Sequence[Tensor]] = lambda bound: [
        tensor for tensor in bound.inputs if tensor is not None
    ]
    is_channelwise: Callable[[BoundOperator[A]], bool] = lambda bound: False
    is_contraction: Callable[[BoundOperator[A]], bool] = lambda bound: False
    is_expansion: Callable[[BoundOperator[A]], bool] = lambda bound: False
    joins_channels: Callable[[BoundOperator[A]], bool] = lambda bound: False
    rows: Callable[[BoundOperator[A]], Any] = lambda bound: None
    takes_uint8: bool = False
    folds_at_import: bool = False
    by_litert: Callable[[BoundOperator[A]], bool] = lambda bound: False


OPERATORS: Registry[OperatorKind[Any]] = Registry("uhost.ops", "OPERATOR", "operator")


def reads(*types: DType) -> Callable[[BoundOperator[Any]], bool]:
    """Returns what tells whether an operator's first input has one of `types`."""
    return lambda bound: bound.input(0).dtype in types


def single(
    name: str,
    kind: str,
    attributes: Attributes,
    inputs: Sequence[Tensor | None],
    outputs: Sequence[Tensor],
) -> Graph:
    """Returns a graph of one operator: the non-constant inputs are the graph's inputs."""
    operator = Operator(
        kind,
        kind,
        tuple(t.name if t is not None else "" for t in inputs),
        tuple(t.name for t in outputs),
        attributes,
    )
    tensors = {t.name: t for t in (*inputs, *outputs) if t is not None}
    feeds = tuple(dict.fromkeys(t.name for t in inputs if t is not None and not t.is_constant))
    return Graph(name, tensors, (operator,), feeds, tuple(t.name for t in outputs))


def evaluate(
    graph: Graph, inputs: Mapping[str, Array], states: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """Returns the value of every tensor by the exact numpy references.

    `inputs` maps each graph input to an array of its shape and type, `states` each state to
    its values before the run, by default the initial ones. In the result a state has its
    values after the run.
    """
    values: dict[str, Array] = {
        name: tensor.values for name, tensor in graph.tensors.items() if tensor.values is not None
    }
    for name in graph.inputs:
        tensor = graph.tensors[name]
        values[name] = checked(tensor, inputs[name])
    for name, initial in graph.states.items():
        values[name] = checked(graph.tensors[name], initial if states is None else states[name])
    for bound, operator in zip(graph.bound_operators(), graph.operators, strict=True):
        arguments = [values[name] if name else None for name in operator.inputs]
        results = OPERATORS[bound.kind].reference(bound, arguments)
        for tensor, result in zip(bound.outputs, results, strict=True):
            values[tensor.name] = checked(tensor, result)
    return values


def checked(tensor: Tensor, array: Array) -> Array:
    """Returns `array` after checking that it has the tensor's shape and type."""
    from uhost.errors import VerifyError

    if array.shape != tensor.shape or array.dtype != tensor.dtype.numpy:
        raise VerifyError(
            f"'{tensor.name}' should be {tensor.dtype}{list(tensor.shape)}, "
            f"is {array.dtype}{list(array.shape)}"
        )
    return array
