"""Copies into the memory of the graphs that an operator runs, and out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uhost.ir.graph import BoundOperator, CallingAttributes, Graph
from uhost.ir.tensor import Tensor
from uhost.kernels._kernel import Constant, KernelCall, Parameter, Routine

Copy = tuple[str, str, int]
"""Where to, where from (both in C), and how many bytes."""


def copies_in(
    routine: Routine, names: Sequence[str], tensors: Sequence[Tensor]
) -> tuple[Copy, ...]:
    """Returns the copies of named values into the inputs that the graph uses."""
    used = _used(routine.graph)
    return tuple(
        (routine.places[inner], name, tensor.size_bytes)
        for inner, name, tensor in zip(routine.graph.inputs, names, tensors, strict=True)
        if inner in used
    )


def copies_out(
    routine: Routine, names: Sequence[str], tensors: Sequence[Tensor]
) -> tuple[Copy, ...]:
    """Returns the copies of the graph's outputs to what is named."""
    return tuple(
        (name, routine.places[inner], tensor.size_bytes)
        for inner, name, tensor in zip(routine.graph.outputs, names, tensors, strict=True)
    )


def state_copies(
    routine: Routine, number: int, at: CallingAttributes, first: int
) -> tuple[tuple[Copy, ...], tuple[Copy, ...]]:
    """Returns the copies of states into graph `number`, and of those that it changes back.

    The states are the outputs from number `first` on.
    """
    graph = routine.graph
    written = {name for operator in graph.operators for name in operator.outputs}
    known = [
        (f"output_{first + n}", names[number], graph.states[names[number]].nbytes)
        for n, names in enumerate(at.states)
        if names[number] in graph.states
    ]
    before = tuple((routine.places[inner], name, size) for name, inner, size in known)
    after = tuple(
        (name, routine.places[inner], size) for name, inner, size in known if inner in written
    )
    return before, after


def _used(graph: Graph) -> set[str]:
    return {*graph.outputs, *(name for operator in graph.operators for name in operator.inputs)}


def lower_calls(
    bound: BoundOperator[Any],
    routines: Sequence[Routine],
    values: dict[str, Any],
    copies: Sequence[Copy],
    always: Sequence[str] = (),
) -> KernelCall:
    """Returns the call: parameters are what `copies` name, and `always`, constants and memory.

    Inputs are named `input_N`, outputs `output_N`, N counting those of the operator.
    """
    named = {*always, *(end for to, source, _ in copies for end in (to, source))}
    parameters = [
        Parameter(f"input_{n}", f"const {tensor.dtype.c_type} *", "input", n)
        for n, tensor in enumerate(bound.inputs)
        if tensor is not None and f"input_{n}" in named
    ]
    parameters += [
        Parameter(f"output_{n}", f"{tensor.dtype.c_type} *", "output", n)
        for n, tensor in enumerate(bound.outputs)
        if f"output_{n}" in named
    ]
    constants: list[Constant] = []
    for routine in routines:
        for parameter in routine.parameters:
            index = len(constants)
            constants.append(routine.constants[parameter.index])
            parameters.append(Parameter(parameter.name, parameter.ctype, "constant", index))
    size_bytes = max(routine.size_bytes for routine in routines)
    if size_bytes:
        parameters.append(Parameter("memory", "uint8_t *", "scratch"))
    nested = (name for r in routines for one in r.calls for name in one.call.includes)
    return KernelCall(
        "reference",
        bound.kind,
        values,
        tuple(parameters),
        constants=tuple(constants),
        scratch_bytes=size_bytes,
        includes=tuple(sorted({"copy_bytes", *nested})),
        routines=tuple(routines),
    )


def never(bound: BoundOperator[Any]) -> KernelCall:
    """Raises: an operator that runs graphs is lowered with them."""
    raise AssertionError(f"'{bound.name}' is lowered without the graphs that it runs")
