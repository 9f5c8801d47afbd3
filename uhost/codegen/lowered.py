"""Lowered: one model with a kernel for every operator and a place for every tensor."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uhost.codegen.names import identifier
from uhost.config.compilation import Executor
from uhost.ir.graph import BoundOperator, Graph
from uhost.ir.tensor import Array
from uhost.kernels._kernel import Constant, KernelCall
from uhost.kernels._partition import Selection
from uhost.planner.plan import MemoryPlan

PARAMS_MAGIC = b"uhostprm"
PARAMS_HEADER_BYTES = 48
_PARAMS_ARRAYS_AT = PARAMS_HEADER_BYTES + 32
PARAMS_ALIGNMENT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Lowered:
    """One model ready to be printed: graph, kernel per operator, memory plan."""

    graph: Graph
    selections: Mapping[str, Selection]
    plan: MemoryPlan

    @property
    def identifier(self) -> str:
        """The model's name as a C identifier."""
        return identifier(self.graph.name)

    def constants(self) -> dict[str, Constant]:
        """Returns every constant by `operator.role`: what kernels pack, and constant operands."""
        found: dict[str, Constant] = {}
        for operator in self.graph.operators:
            selection = self.selections.get(operator.name)
            if selection is None:
                continue
            for constant in constants_of(self.graph.bind(operator), selection.call):
                found[f"{operator.name}.{constant.role}"] = constant
        return found

    def initial_values(self) -> dict[str, Constant]:
        """Returns, by state, the initial values that take an array: not one byte repeated."""
        return {
            name: Constant("initial", values, values.itemsize)
            for name, values in self.graph.states.items()
            if len(set(values.tobytes())) > 1
        }

    def constant_bytes(self) -> int:
        """Bytes of weights and tables the model stores; equal arrays are stored once."""
        return sum(array.nbytes for array in distinct(self.stored()).values())

    def stored(self) -> dict[str, Constant]:
        """Returns all constants and initial values."""
        return {**self.constants(), **self.initial_values()}


def constants_of(bound: BoundOperator[Any], call: KernelCall) -> Iterator[Constant]:
    """Yields the constants that a call of a kernel reads: packed ones, and constant operands."""
    for parameter in call.parameters:
        if parameter.source == "constant":
            yield call.constants[parameter.index]
        elif parameter.source == "input" and bound.input(parameter.index).is_constant:
            tensor = bound.input(parameter.index)
            role = f"input_{parameter.index}"
            yield Constant(role, tensor.constant(), tensor.dtype.size_bytes)


@dataclass(frozen=True, slots=True, eq=False)
class Params:
    """A model's weights apart from its code: a header, then the arrays at `offsets`.

    The header is the magic `uhostprm`, the payload's size (8 bytes, little-endian) and
    the SHA-256 of the layout: of the code that reads the weights, not of their values. So
    the generated code refuses weights that were packed for other code, and takes those of
    the same network trained again. After the header comes the SHA-256 of the arrays, by
    which a damaged blob is told from a whole one.
    """

    blob: bytes
    offsets: Mapping[str, int]

    @property
    def header(self) -> bytes:
        """The first 48 bytes."""
        return self.blob[:PARAMS_HEADER_BYTES]

    @property
    def digest(self) -> str:
        """The layout's SHA-256, in hexadecimal."""
        return self.blob[16:PARAMS_HEADER_BYTES].hex()


def arenas(models: Sequence[Lowered], executor: Executor) -> dict[str, str]:
    """Returns the identifier of each model → the name of its arena.

    A model with state has an arena of its own even where the others share one.
    """
    return {
        one.identifier: "arena"
        if executor.shared_arena and not one.plan.state_bytes
        else f"{one.identifier}_arena"
        for one in models
    }


def arena_sizes(models: Sequence[Lowered], executor: Executor) -> dict[str, int]:
    """Returns arena name → bytes: those of the largest model that lies in it."""
    names, sizes = arenas(models, executor), dict[str, int]()
    for one in models:
        name = names[one.identifier]
        sizes[name] = max(sizes.get(name, 0), one.plan.arena_bytes)
    return sizes


def arena_bytes(models: Sequence[Lowered], executor: Executor) -> int:
    """Bytes of all arenas of the models."""
    return sum(arena_sizes(models, executor).values())


def constant_bytes(models: Sequence[Lowered]) -> int:
    """Bytes of the models' weights and tables; equal arrays of any of them are stored once."""
    arrays: dict[tuple[str, bytes], Array] = {}
    for one in models:
        arrays.update(distinct(one.stored()))
    return sum(array.nbytes for array in arrays.values())


def distinct(constants: Mapping[str, Constant]) -> dict[tuple[str, bytes], Array]:
    """Returns the arrays without those equal to an earlier one, by type and content."""
    return {key_of(c.values): np.ascontiguousarray(c.values) for c in constants.values()}


def key_of(array: Array) -> tuple[str, bytes]:
    """Returns what two arrays that can share one place have in common."""
    return str(array.dtype), np.ascontiguousarray(array).tobytes()


def pack_params(lowered: Lowered) -> Params:
    """Returns the model's weights as one blob, every array at a multiple of 16 bytes.

    Equal arrays are not merged: where each lies must not depend on what they hold.
    """
    arrays = bytearray()
    offsets: dict[str, int] = {}
    for name, constant in lowered.constants().items():
        arrays += bytes(-len(arrays) % PARAMS_ALIGNMENT_BYTES)
        offsets[name] = _PARAMS_ARRAYS_AT + len(arrays)
        arrays += key_of(constant.values)[1]
    payload = hashlib.sha256(arrays).digest() + bytes(arrays)
    header = PARAMS_MAGIC + len(payload).to_bytes(8, "little") + _layout(lowered, offsets)
    return Params(header + payload, offsets)


def params_are_whole(blob: bytes) -> bool:
    """True if the arrays of a blob are what its digest says."""
    found = hashlib.sha256(blob[_PARAMS_ARRAYS_AT:]).digest()
    return blob[PARAMS_HEADER_BYTES:_PARAMS_ARRAYS_AT] == found


def _layout(lowered: Lowered, offsets: Mapping[str, int]) -> bytes:
    """Returns the SHA-256 of all that the generated code fixes about its weights."""
    constants = lowered.constants()
    lines = [f"{name} {constants[name].values.dtype} {at}" for name, at in offsets.items()]
    for operator in lowered.graph.operators:
        selection = lowered.selections.get(operator.name)
        places = [
            lowered.plan.offset(name)
            for name in (*operator.inputs, *operator.outputs)
            if name and not lowered.graph.tensors[name].is_constant
        ]
        key = selection.call.function_key if selection is not None else "view"
        lines.append(f"{operator.name} {key!r} {places}")
    return hashlib.sha256("\n".join(lines).encode()).digest()
