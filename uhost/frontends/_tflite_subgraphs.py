"""The subgraphs of a TensorFlow Lite model: operators, tensors, and the calls between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import tflite

from uhost.errors import MalformedModelError, UnsupportedOperatorError, VerifyError
from uhost.frontends._flatbuffer import DAMAGED, Flatbuffer
from uhost.frontends._import import INCONSISTENT, import_nodes
from uhost.frontends._node import Declared, Node
from uhost.frontends._tflite_cycles import States, split_cycles
from uhost.frontends._tflite_tensors import (
    TensorTable,
    enum_names,
    integers,
    read_tensors,
    text,
)
from uhost.frontends._tflite_variables import (
    CALL_ONCE,
    SourceOperator,
    Variables,
    called_subgraphs,
    initial_subgraph,
    refuse_call_once,
)
from uhost.frontends._uint8 import recentre, recentre_state, recentred
from uhost.ir.graph import Graph, called_by
from uhost.ops._op import evaluate

OPERATOR_LIMIT = 2**16
CALLS_LIMIT = 256
DEPTH_LIMIT = 16


class Subgraphs:
    """The subgraphs of one file; `graph` imports one, with all that it calls."""

    def __init__(self, flatbuffer: Flatbuffer, model: Any, name: str, form: str) -> None:
        self._flatbuffer = flatbuffer
        self._model = model
        self._name = name
        self._form = form
        self._names = _OperatorNames(flatbuffer, model)
        self._sources: dict[int, list[SourceOperator]] = {}
        self._under_way: list[int] = []
        self._calls = 0
        reached = [self._read(index) for index in self._reachable()]
        self._variables = Variables([source for sources in reached for source in sources])

    def model(self) -> Graph:
        """Returns the graph of subgraph 0, whose states have the values that CALL_ONCE gives."""
        self._declare_variables()
        for source in self._sources[0]:
            if source.name == CALL_ONCE:
                self._initialise(initial_subgraph(source), source.place)
        return self._graph(0, is_model=True)

    def _place(self, index: int) -> str:
        return f"model '{self._name}', subgraph {index}"

    def _subgraph(self, index: int) -> Any:
        count = self._model.SubgraphsLength()
        if not 0 <= index < count:
            raise MalformedModelError(
                f"the file is corrupt: subgraph {index} of {count} is named",
                where=f"model '{self._name}'",
                fix=DAMAGED,
            )
        return self._flatbuffer.checked(self._model.Subgraphs(index), self._place(index))

    def _read(self, index: int) -> list[SourceOperator]:
        if index not in self._sources:
            self._sources[index] = _read_operators(
                self._flatbuffer, self._subgraph(index), self._names, self._place(index)
            )
        return self._sources[index]

    def _reachable(self) -> list[int]:
        """Returns subgraph 0 and all that it calls, directly or not."""
        found = [0]
        for index in found:
            for source in self._read(index):
                found += [i for i in called_subgraphs(source) if i not in found]
        return found

    def _table(self, index: int) -> TensorTable:
        subgraph, sources = self._subgraph(index), self._read(index)
        inputs = integers(subgraph.InputsAsNumpy())
        written = frozenset((*inputs, *(i for source in sources for i in source.outputs)))
        taken = self._variables.names
        place = self._place(index)
        return read_tensors(self._flatbuffer, self._model, subgraph, written, place, taken)

    def _declare_variables(self) -> None:
        """Finds shape and type of every resource variable in what is read from and put into it."""
        for index, sources in self._sources.items():
            if self._variables.are_in(sources):
                tensor = self._pick(self._table(index))
                self._variables.declare(sources, tensor)

    def _initialise(self, index: int, place: str) -> None:
        """Gives the states the values that a run of subgraph `index` leaves them."""
        graph = self._graph(index, is_model=False)
        if graph.inputs:
            raise MalformedModelError(
                "the subgraph that CALL_ONCE calls has inputs", where=place, fix=INCONSISTENT
            )
        if any(called_by(operator) for operator in graph.operators):
            raise UnsupportedOperatorError(
                "the subgraph that CALL_ONCE calls has an IF or a WHILE",
                where=place,
                fix="give the variables their first values without branches and loops",
            )
        try:
            values = evaluate(graph, {})
        except VerifyError as error:
            raise MalformedModelError(error.what, where=place, fix=INCONSISTENT) from error
        for name in graph.states:
            found, before = values[name], self._variables.initial[name]
            is_uint8 = found.dtype != before.dtype
            self._variables.initial[name] = recentred(found) if is_uint8 else found

    def _pick(self, table: TensorTable) -> Callable[[int, str], Declared]:
        def tensor(index: int, where: str) -> Declared:
            if not 0 <= index < len(table.tensors):
                raise MalformedModelError(
                    f"the file is corrupt: tensor {index} of {len(table.tensors)} is named",
                    where=where,
                    fix=DAMAGED,
                )
            return table.tensors[index]

        return tensor

    def _graph(self, index: int, *, is_model: bool) -> Graph:
        if index in self._under_way:
            raise MalformedModelError(
                f"subgraph {index} calls itself",
                where=self._place(index),
                fix=INCONSISTENT,
            )
        self._under_way.append(index)
        place = self._place(index)
        subgraph, sources, table = self._subgraph(index), self._read(index), self._table(index)
        tensor = self._pick(table)
        inputs = [tensor(i, f"{place}, inputs") for i in integers(subgraph.InputsAsNumpy())]
        outputs = [tensor(i, f"{place}, outputs") for i in integers(subgraph.OutputsAsNumpy())]
        if not is_model:
            refuse_call_once(sources)
        resolved = list(self._variables.resolve(sources, tensor))
        states = {
            name: recentre_state(state, values)
            for name, (state, values) in self._variables.states(table).items()
        }
        shared = {name: states[name][0] for name in self._variables.names if name in states}
        nodes = [
            replace(node, subgraph=self._called, variables=shared, kept=frozenset(states))
            for node in recentre(resolved, inputs, outputs)
        ]
        name = self._name if is_model else f"{self._name}_{index}"
        dynamic = dict(table.dynamic)
        for node in nodes:
            if node.operator == "QUANTIZE":  # those between uint8 and int8 are in no file
                for one, other in zip(node.declared_inputs, node.declared_outputs, strict=False):
                    known = one and (dynamic.get(one.name) or dynamic.get(other.name))
                    dynamic.update({t.name: known for t in (one, other) if t and known})
        if is_model:

            def called(own: Sequence[Node], arguments: Sequence[Declared], kept: States) -> Graph:
                return import_nodes(
                    name, self._form, own, arguments, (), dynamic, kept, is_model=False
                )

            split = split_cycles(nodes, outputs, states, called)
            nodes, states = list(split.nodes), split.states
        graph = import_nodes(
            name, self._form, nodes, inputs, outputs, dynamic, states, is_model=is_model
        )
        self._under_way.pop()
        return graph

    def _called(self, index: int) -> Graph:
        """Returns a graph that an operator calls; raises where there are far too many calls."""
        self._calls += 1
        if self._calls > CALLS_LIMIT or len(self._under_way) > DEPTH_LIMIT:
            raise UnsupportedOperatorError(
                f"subgraphs are called in more than {CALLS_LIMIT} places, or more than "
                f"{DEPTH_LIMIT} within one another",
                where=self._place(index),
                fix="export the model with fewer branches and loops within one another",
            )
        return self._graph(index, is_model=False)


def _read_operators(
    flatbuffer: Flatbuffer, subgraph: Any, names: _OperatorNames, place: str
) -> list[SourceOperator]:
    """Returns the operators of `subgraph` in file order."""
    count = subgraph.OperatorsLength()
    if count > OPERATOR_LIMIT:
        raise MalformedModelError(
            f"the file is corrupt: {count} operators, more than {OPERATOR_LIMIT}",
            where=place,
            fix=DAMAGED,
        )
    operators = []
    for index in range(count):
        operator_place = f"{place}, operator {index}"
        source = flatbuffer.checked(subgraph.Operators(index), operator_place)
        name = names.name(source.OpcodeIndex(), operator_place)
        operator_place += f" ({name})"
        operators.append(
            SourceOperator(
                index,
                name,
                integers(source.InputsAsNumpy()),
                integers(source.OutputsAsNumpy()),
                _options(flatbuffer, source, operator_place),
                operator_place,
                integers(source.IntermediatesAsNumpy()),
            )
        )
    return operators


class _OperatorNames:
    """The operator codes of a model as names, each read once."""

    def __init__(self, flatbuffer: Flatbuffer, model: Any) -> None:
        self._flatbuffer = flatbuffer
        self._model = model
        self._count: int = model.OperatorCodesLength()
        self._builtin = enum_names(tflite.BuiltinOperator)
        self._read: dict[int, str] = {}

    def name(self, index: int, place: str) -> str:
        """Returns the name of operator code `index`: "CONV_2D", or "CUSTOM:its name"."""
        if index not in self._read:
            if index >= self._count:
                raise MalformedModelError(
                    f"the file is corrupt: operator code {index} of {self._count} is named",
                    where=place,
                    fix=DAMAGED,
                )
            self._read[index] = self._decode(index)
        return self._read[index]

    def _decode(self, index: int) -> str:
        code = self._flatbuffer.checked(self._model.OperatorCodes(index), f"operator code {index}")
        # Codes over 127 did not fit the field that old files have; new files set both.
        number = max(code.DeprecatedBuiltinCode(), code.BuiltinCode())
        if number == tflite.BuiltinOperator.CUSTOM:
            return f"CUSTOM:{text(code.CustomCode())}"
        return self._builtin.get(number, f"BUILTIN:{number}")


def _options(flatbuffer: Flatbuffer, source: Any, place: str) -> Any:
    """Returns the generated options object of an operator, its reads checked.

    The bytes of custom options for a custom operator, None where the file has none.
    """
    unions: Sequence[tuple[Any, int, Callable[[], Any]]] = (
        (tflite.BuiltinOptions, source.BuiltinOptionsType(), source.BuiltinOptions),
        (tflite.BuiltinOptions2, source.BuiltinOptions2Type(), source.BuiltinOptions2),
    )
    for enumeration, member, read in unions:
        table = read() if member != enumeration.NONE else None
        if table is None:
            continue
        class_name = enum_names(enumeration).get(member)
        if class_name is None:
            return None  # of an operator newer than the schema, which has no importer either
        generated = getattr(import_module(f"tflite.{class_name}"), class_name)
        return flatbuffer.table(generated, table.Pos, place)
    custom = source.CustomOptionsAsNumpy()
    return None if isinstance(custom, int) else custom.tobytes()
