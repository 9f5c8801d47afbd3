"""TensorFlow Lite models (`.tflite`): flatbuffers of schema version 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import tflite

from uhost.errors import MalformedModelError, ModelError
from uhost.frontends._flatbuffer import DAMAGED, Flatbuffer
from uhost.frontends._import import Declared, Node, import_nodes
from uhost.frontends._tflite_tensors import enum_names, integers, read_tensors, text
from uhost.frontends._uint8 import recentre
from uhost.ir.graph import Graph

IDENTIFIER = b"TFL3"
SCHEMA_VERSION = 3
OPERATOR_LIMIT = 2**16


@dataclass(frozen=True, slots=True)
class TfliteFrontend:
    """Reads `.tflite` files: the first subgraph, which is what an interpreter runs."""

    name: str = "tflite"

    def recognizes(self, content: bytes) -> bool:
        """Returns true if `content` bears the file identifier `TFL3`."""
        return content[4:8] == IDENTIFIER

    def load(self, content: bytes, name: str) -> Graph:
        """Returns the verified graph of the model, its tensors and operators in file order.

        Tensor names are the file's, made unique and non-empty; operators are called by
        kind and position. Raises `MalformedModelError` for a damaged file,
        `UnsupportedOperatorError` with all unsupported operators, and `ModelError` for
        shapes that are not fixed.
        """
        place = f"model '{name}'"
        flatbuffer = Flatbuffer(content)
        model = flatbuffer.root(tflite.Model, place)
        if model.Version() != SCHEMA_VERSION:
            raise ModelError(
                f"the file has schema version {model.Version()}; uhost reads {SCHEMA_VERSION}",
                where=place,
                fix="convert the model with a current TensorFlow Lite converter",
            )
        if model.SubgraphsLength() == 0:
            raise MalformedModelError(
                "the file has no subgraph", where=place, fix="export the model again"
            )
        place += ", subgraph 0"
        subgraph = flatbuffer.checked(model.Subgraphs(0), place)
        sources = _read_operators(flatbuffer, model, subgraph, place)
        inputs, outputs = integers(subgraph.InputsAsNumpy()), integers(subgraph.OutputsAsNumpy())
        written = frozenset((*inputs, *(i for source in sources for i in source.outputs)))
        table = read_tensors(flatbuffer, model, subgraph, written, place)

        def tensor(index: int, where: str) -> Declared:
            if not 0 <= index < len(table.tensors):
                raise MalformedModelError(
                    f"the file is corrupt: tensor {index} of {len(table.tensors)} is named",
                    where=where,
                    fix=DAMAGED,
                )
            return table.tensors[index]

        entries = [tensor(index, f"{place}, inputs") for index in inputs]
        exits = [tensor(index, f"{place}, outputs") for index in outputs]
        nodes = recentre([source.node(tensor) for source in sources], entries, exits)
        return import_nodes(name, self.name, nodes, entries, exits, table.dynamic)


FRONTEND = TfliteFrontend()


@dataclass(frozen=True, slots=True)
class _SourceOperator:
    """One operator as the file has it: tensors by index."""

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any
    place: str

    def node(self, tensor: Callable[[int, str], Declared]) -> Node:
        """Returns the operator with `tensor` applied to its indices; input -1 is absent."""
        return Node(
            self.index,
            self.name,
            tuple(tensor(i, self.place) if i != -1 else None for i in self.inputs),
            tuple(tensor(i, self.place) for i in self.outputs),
            self.options,
            self.place,
        )


def _read_operators(
    flatbuffer: Flatbuffer, model: Any, subgraph: Any, place: str
) -> list[_SourceOperator]:
    """Returns the operators of `subgraph` in file order."""
    count = subgraph.OperatorsLength()
    if count > OPERATOR_LIMIT:
        raise MalformedModelError(
            f"the file is corrupt: {count} operators, more than {OPERATOR_LIMIT}",
            where=place,
            fix=DAMAGED,
        )
    names = _OperatorNames(flatbuffer, model)
    operators = []
    for index in range(count):
        operator_place = f"{place}, operator {index}"
        source = flatbuffer.checked(subgraph.Operators(index), operator_place)
        name = names.name(source.OpcodeIndex(), operator_place)
        operator_place += f" ({name})"
        operators.append(
            _SourceOperator(
                index,
                name,
                integers(source.InputsAsNumpy()),
                integers(source.OutputsAsNumpy()),
                _options(flatbuffer, source, operator_place),
                operator_place,
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
