"""Graphs: tensors, and operators in topological order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from uhost.errors import VerifyError
from uhost.ir.printer import print_attributes
from uhost.ir.tensor import Array, Tensor


class Attributes:
    """Base of every operator's attributes: a frozen, slotted dataclass of plain values."""

    __slots__ = ()


A = TypeVar("A", bound=Attributes)


@dataclass(frozen=True, slots=True)
class CallingAttributes(Attributes):
    """Attributes of an operator that runs graphs of its own.

    `states` names each state of the operator, which are its last inputs and outputs, in every
    graph of `called`; "" where a graph does not know it.
    """

    called: tuple[Graph, ...]
    states: tuple[tuple[str, ...], ...] = ()

    keeps_inputs: ClassVar[bool] = False
    """True if the inputs of the graphs are read again after they have run."""

    @property
    def roles(self) -> tuple[str, ...]:
        """What each graph is for, in one word."""
        return tuple(f"graph_{number}" for number in range(len(self.called)))


@dataclass(frozen=True, slots=True)
class Absorbed:
    """A source operator that another does as well, and the tensor that is no longer made for it."""

    operator: str
    tensor: str


@dataclass(frozen=True, slots=True)
class Operator:
    """One node: `kind` names a file of `uhost/ops`; an absent optional input is "".

    `absorbed` names what passes have put into it, so that reports can tell where the
    source's operators and tensors went.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Attributes
    absorbed: tuple[Absorbed, ...] = ()

    @property
    def title(self) -> str:
        """The name, and after it what it does as well: `conv_2d_3 (also pad_2, relu_4)`."""
        return operator_title(self.name, self.absorbed)


def called_by(operator: Operator) -> tuple[Graph, ...]:
    """Returns the graphs that an operator runs."""
    at = operator.attributes
    return at.called if isinstance(at, CallingAttributes) else ()


def operator_title(name: str, absorbed: Sequence[Absorbed]) -> str:
    """Returns an operator's name, and after it what it does as well."""
    also = ", ".join(dict.fromkeys(one.operator for one in absorbed))
    return f"{name} (also {also})" if also else name


@dataclass(frozen=True, slots=True)
class BoundOperator(Generic[A]):
    """An operator with its tensors looked up: what references, passes and kernels read."""

    name: str
    kind: str
    attributes: A
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]

    def input(self, index: int) -> Tensor:
        """Returns input `index`, which must be present."""
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if tensor is None:
            raise VerifyError(f"operator '{self.name}' ({self.kind}) lacks input {index}")
        return tensor

    def optional_input(self, index: int) -> Tensor | None:
        """Returns input `index`, or None where the operator has none."""
        return self.inputs[index] if index < len(self.inputs) else None

    @property
    def output(self) -> Tensor:
        """The only output."""
        if len(self.outputs) != 1:
            raise VerifyError(f"operator '{self.name}' ({self.kind}) has several outputs")
        return self.outputs[0]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Tensors by name and operators in an order in which every input is made before it is read.

    `states` maps each tensor that lasts from one run to the next to its initial values. It
    is there to be read from the start; an operator that changes it has it among its outputs,
    and those that come later read the new values. The order of operators is their meaning
    where they touch one state.
    """

    name: str
    tensors: Mapping[str, Tensor]
    operators: tuple[Operator, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    states: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tensors", MappingProxyType(dict(self.tensors)))
        object.__setattr__(self, "states", MappingProxyType(dict(self.states)))

    def bind(self, operator: Operator) -> BoundOperator[Any]:
        """Returns `operator` with its tensors."""
        return BoundOperator(
            operator.name,
            operator.kind,
            operator.attributes,
            tuple(self.tensors[name] if name else None for name in operator.inputs),
            tuple(self.tensors[name] for name in operator.outputs),
        )

    def bound_operators(self) -> Iterator[BoundOperator[Any]]:
        """Yields every operator with its tensors, in order."""
        return (self.bind(operator) for operator in self.operators)

    def with_operators(
        self, operators: tuple[Operator, ...], tensors: Mapping[str, Tensor] | None = None
    ) -> Graph:
        """Returns a graph of other operators (and tensors), without tensors nobody names."""
        pool = dict(self.tensors if tensors is None else tensors)
        used = {*self.inputs, *self.outputs}
        for operator in operators:
            used.update(operator.inputs, operator.outputs)
        kept = {name: tensor for name, tensor in pool.items() if name in used}
        states = {name: values for name, values in self.states.items() if name in used}
        return replace(self, operators=operators, tensors=kept, states=states)

    def verify(self) -> None:
        """Raises `VerifyError` unless names resolve, order is topological, writers are unique.

        The same of every graph that an operator calls.
        """
        for graph in (graph for operator in self.operators for graph in called_by(operator)):
            graph.verify()
        names = [operator.name for operator in self.operators]
        if len(names) != len(set(names)):
            raise VerifyError(f"graph '{self.name}' has two operators of one name")
        made = {name for name, tensor in self.tensors.items() if tensor.is_constant}
        for name in self.inputs:
            if name not in self.tensors:
                raise VerifyError(f"graph input '{name}' is not a tensor")
            if name in made:
                raise VerifyError(f"graph input '{name}' is a constant")
            made.add(name)
        self._verify_states(made)
        made.update(self.states)
        for operator in self.operators:
            for name in operator.inputs:
                if name and name not in self.tensors:
                    raise VerifyError(f"operator '{operator.name}' reads unknown tensor '{name}'")
                if name and name not in made:
                    raise VerifyError(
                        f"operator '{operator.name}' reads '{name}' before anything writes it"
                    )
            for name in operator.outputs:
                if name not in self.tensors:
                    raise VerifyError(f"operator '{operator.name}' writes unknown tensor '{name}'")
                if name in made and name not in self.states:
                    raise VerifyError(f"tensor '{name}' is written twice")
                made.add(name)
        for name in self.outputs:
            if name not in made:
                raise VerifyError(f"nothing writes graph output '{name}'")

    def _verify_states(self, made: set[str]) -> None:
        for name, values in self.states.items():
            tensor = self.tensors.get(name)
            if tensor is None:
                raise VerifyError(f"state '{name}' is not a tensor")
            if name in made:
                raise VerifyError(f"state '{name}' is a constant or an input of the graph")
            if values.shape != tensor.shape or values.dtype != tensor.dtype.numpy:
                raise VerifyError(
                    f"state '{name}' is {tensor.dtype}{list(tensor.shape)}, its initial values "
                    f"are {values.dtype}{list(values.shape)}"
                )

    def __str__(self) -> str:
        """Returns the graph as text: one line per operator, stable, readable in a diff."""

        def value(name: str) -> str:
            return f"%{name}: {self.tensors[name]}"

        def argument(name: str) -> str:
            return f"{'@' if self.tensors[name].is_constant else '%'}{name}" if name else "-"

        lines = [f"graph {self.name} {{"]
        lines += [f"  input  {value(name)}" for name in self.inputs]
        lines += [f"  state  {value(name)}" for name in self.states]
        for operator in self.operators:
            results = ", ".join(value(name) for name in operator.outputs)
            arguments = ", ".join(argument(name) for name in operator.inputs)
            attributes = print_attributes(operator.attributes)
            lines.append(f"  {results} = {operator.kind}({arguments}) [{attributes}]")
        lines += [f"  output %{name}" for name in self.outputs]
        return "\n".join([*lines, "}"]) + "\n"
