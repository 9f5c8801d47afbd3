"""Graphs that an operator runs, as parts of the function that runs them."""

from __future__ import annotations

from typing import Any

from uhost.codegen.lowered import Lowered
from uhost.codegen.names import identifier
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.kernels._kernel import Constant, KernelCall, NestedCall, Parameter, Routine, library
from uhost.planner.lifetimes import SCRATCH_SUFFIX


def routine_of(lowered: Lowered, role: str) -> Routine:
    """Returns the routine of a graph; `role` begins the names of the constants that it reads."""
    return _RoutineUnderWay(lowered, role).finish()


class _RoutineUnderWay:
    def __init__(self, lowered: Lowered, role: str) -> None:
        self._lowered = lowered
        self._role = role
        self._parameters: list[Parameter] = []
        self._constants: list[Constant] = []

    def finish(self) -> Routine:
        """Returns the routine."""
        graph, features = self._lowered.graph, set[str]()
        calls: list[NestedCall] = []
        for bound in graph.bound_operators():
            selection = self._lowered.selections.get(bound.name)
            if selection is None:
                continue  # a view
            call = selection.call
            features.update(library(selection.library)[selection.name].features)
            features.update(feature for one in call.routines for feature in one.features)
            arguments = tuple(self._argument(bound, call, p) for p in call.parameters)
            note = f"{bound.kind.upper()} ({bound.name})"
            calls.append(NestedCall(call, arguments, note, selection.variant.cost))
        places = {
            name: self._place(graph.tensors[name])
            for name in (*graph.inputs, *graph.outputs, *graph.states)
        }
        return Routine(
            graph,
            tuple(calls),
            self._lowered.plan.arena_bytes,
            places,
            tuple(self._parameters),
            tuple(self._constants),
            frozenset(features),
        )

    def _place(self, tensor: Tensor) -> str:
        """Returns what points at an input, an output or a state of the graph."""
        if not tensor.is_constant:
            return self._at(tensor.name)
        ctype = f"const {tensor.dtype.c_type} *"
        values = tensor.constant()
        return self._constant(tensor.name, ctype, Constant("", values, values.itemsize))

    def _argument(self, bound: BoundOperator[Any], call: KernelCall, p: Parameter) -> str:
        ctype = p.ctype.removesuffix("restrict")
        if p.source == "constant":
            constant = call.constants[p.index]
            return self._constant(f"{bound.name}_{constant.role}", p.ctype, constant)
        if p.source == "scratch":
            return f"({ctype})({self._at(bound.name + SCRATCH_SUFFIX)})"
        tensor = bound.input(p.index) if p.source == "input" else bound.outputs[p.index]
        if not tensor.is_constant:
            return f"({ctype})({self._at(tensor.name)})"
        constant = Constant("", tensor.constant(), tensor.dtype.size_bytes)
        return self._constant(f"{bound.name}_input_{p.index}", p.ctype, constant)

    def _at(self, block: str) -> str:
        offset = self._lowered.plan.offset(block)
        return f"memory + {offset}" if offset else "memory"

    def _constant(self, name: str, ctype: str, constant: Constant) -> str:
        """Returns the parameter that the calling function gets for a constant."""
        taken = {parameter.name for parameter in self._parameters}
        known = name.startswith(f"{self._role}_")  # the graph of an operator of that name
        base = unique = identifier(name if known else f"{self._role}_{name}")
        while unique in taken:
            unique = f"{base}_{len(taken)}"
        index = len(self._constants)
        self._parameters.append(Parameter(unique, ctype, "constant", index))
        self._constants.append(Constant(unique, constant.values, constant.alignment))
        return unique
