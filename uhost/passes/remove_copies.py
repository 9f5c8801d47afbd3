"""Removes operators that only hand their input on.

Each operator says itself when it does so (`OperatorKind.is_copy`): RESHAPE always,
TRANSPOSE where it moves axes of size 1 alone, PAD by nothing, CONCATENATION of one tensor,
QUANTIZE between equal parameters, a pooling or a mean over single elements.

A copy of the same shape and quantisation goes; its readers read what it copied. Under
another shape it becomes a RESHAPE, which is a view: it needs neither code nor memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from uhost.config.pass_context import PassContext
from uhost.ir.graph import Absorbed, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Tensor
from uhost.ops._op import OPERATORS
from uhost.ops.reshape import ReshapeAttributes
from uhost.passes._neighbours import is_sound


@dataclass(frozen=True, slots=True)
class RemoveCopies:
    """Keeps a copy of a constant or of a graph input that is itself an output of the graph."""

    opt_level: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("fold_constants",)

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module without copies."""
        return module.map_graphs(lambda graph: _Copies(graph).removed())


@dataclass(slots=True)
class _Copies:
    """A walk over a graph: the operators kept so far, and other names of tensors."""

    graph: Graph
    kept: list[Operator] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def removed(self) -> Graph:
        for operator in self.graph.operators:
            inputs = tuple(self.names.get(name, name) for name in operator.inputs)
            operator = replace(operator, inputs=inputs)
            if not self._is_copy(operator):
                self.kept.append(operator)
                continue
            source, result = self._tensor(self._origin(operator)), self._tensor(operator.outputs[0])
            if not self._is_same(source, result):
                view = replace(
                    operator,
                    kind="reshape",
                    inputs=(source.name,),
                    attributes=ReshapeAttributes(),
                )
                is_view = is_sound(view, self.graph.tensors)
                self.kept.append(view if is_view else operator)
            elif result.name not in self.graph.outputs:
                self.names[result.name] = source.name
                self._absorb(source.name, Absorbed(operator.name, result.name))
            elif self._writer(source.name) is None or source.name in self.graph.outputs:
                self.kept.append(operator)
            else:
                self._absorb(source.name, Absorbed(operator.name, source.name))
                self._rename(source.name, result.name)
        return self._without_unread_views()

    def _tensor(self, name: str) -> Tensor:
        return self.graph.tensors[name]

    def _is_copy(self, operator: Operator) -> bool:
        """True for a copy of something that is made, or that the graph is given.

        A copy of a state may be read when the state has changed.
        """
        if not operator.inputs or self._tensor(operator.inputs[0]).is_constant:
            return False
        if operator.inputs[0] in self.graph.states or operator.outputs[0] in self.graph.states:
            return False
        return OPERATORS[operator.kind].is_copy(self.graph.bind(operator))

    def _is_same(self, source: Tensor, result: Tensor) -> bool:
        return (source.shape, source.dtype, source.quantization) == (
            result.shape,
            result.dtype,
            result.quantization,
        )

    def _writer(self, name: str) -> int | None:
        """Returns the place of the operator that makes a tensor; None for a graph input."""
        return next((i for i, one in enumerate(self.kept) if name in one.outputs), None)

    def _origin(self, operator: Operator) -> str:
        """Returns the tensor whose bytes a copy gives: behind views, that which they show."""
        name = operator.inputs[0]
        while (place := self._writer(name)) is not None and self.kept[place].kind == "reshape":
            before = self.kept[place].inputs[0]
            if self._tensor(before).is_constant or before in self.graph.states:
                break
            name = before
        return name

    def _absorb(self, name: str, absorbed: Absorbed) -> None:
        place = self._writer(name)
        if place is not None:
            one = self.kept[place]
            self.kept[place] = replace(one, absorbed=(*one.absorbed, absorbed))

    def _rename(self, old: str, new: str) -> None:
        """Gives a tensor another name wherever it was written or read so far."""
        self.names[old] = new
        for place, one in enumerate(self.kept):
            self.kept[place] = replace(
                one,
                inputs=tuple(new if name == old else name for name in one.inputs),
                outputs=tuple(new if name == old else name for name in one.outputs),
            )

    def _without_unread_views(self) -> Graph:
        """Returns the graph without views that others were read past."""
        read = {*self.graph.outputs, *self.graph.states}
        operators: list[Operator] = []
        for operator in reversed(self.kept):
            if operator.kind == "reshape" and operator.outputs[0] not in read:
                continue
            operators.append(operator)
            read.update(operator.inputs)
        return self.graph.with_operators(tuple(reversed(operators)))


PASS = RemoveCopies
