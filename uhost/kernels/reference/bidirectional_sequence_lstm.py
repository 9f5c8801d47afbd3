"""BIDIRECTIONAL_SEQUENCE_LSTM in portable C: the kernel of one memory, called for either.

The second goes through the sequence by negative strides, from its end.
"""

from __future__ import annotations

from dataclasses import replace

from uhost.ir.graph import BoundOperator, Graph
from uhost.kernels._kernel import Constant, Kernel, KernelCall, NestedCall, Parameter, Routine
from uhost.kernels.reference._parameters import input_parameter, takes_anything
from uhost.kernels.reference.unidirectional_sequence_lstm import KERNEL as ONE_WAY
from uhost.ops._lstm import Lstm
from uhost.ops.bidirectional_sequence_lstm import (
    BidirectionalSequenceLstmAttributes,
    directions,
)


def _lower(bound: BoundOperator[BidirectionalSequenceLstmAttributes]) -> KernelCall:
    at, both = bound.attributes, directions(bound)
    sizes = [Lstm(one).outputs for one in both]
    steps, batches = Lstm(both[0]).steps
    count = len(bound.outputs) - 4
    parameters = [input_parameter(bound.input(0))]
    parameters += [Parameter(f"output_{n}", "float *", "output", n) for n in range(count)]
    constants: list[Constant] = []
    routines: list[Routine] = []
    scratch_bytes = 0
    includes: set[str] = set()
    for number, (label, one) in enumerate(zip(("forward", "backward"), both, strict=True)):
        call = ONE_WAY.lower(one)
        row = sum(sizes) if at.merge_outputs else sizes[number]
        steps_apart = call.values["input_strides"]
        rows_apart = (batches * row, row) if at.time_major else (row, steps * row)
        source, target = 0, sizes[0] if number and at.merge_outputs else 0
        if number:
            source += (steps - 1) * steps_apart[0]
            target += (steps - 1) * rows_apart[0]
            steps_apart = (-steps_apart[0], steps_apart[1])
            rows_apart = (-rows_apart[0], rows_apart[1])
        values = {**call.values, "input_strides": steps_apart, "output_strides": rows_apart}
        call = replace(call, values=values)
        output = f"output_{0 if at.merge_outputs else number}"
        names = {
            "input": f"input + {source}" if source else "input",
            "output": f"{output} + {target}" if target else output,
            "scratch": "scratch",
        }
        for p in call.parameters:
            if p.name in names:
                continue
            names[p.name] = f"{label}_{p.name}"
            index = count + 2 * number + p.index - 1 if p.source == "output" else len(constants)
            parameters.append(Parameter(names[p.name], p.ctype, p.source, index))
            if p.source == "constant":
                constants.append(replace(call.constants[p.index], role=names[p.name]))
        arguments = tuple(names[p.name] for p in call.parameters)
        nested = NestedCall(call, arguments, label)
        routines.append(
            Routine(Graph(label, {}, (), (), ()), (nested,), 0, {}, (), (), frozenset())
        )
        scratch_bytes = max(scratch_bytes, call.scratch_bytes)
        includes.update(call.includes)
    parameters.append(Parameter("scratch", "float *", "scratch"))
    return KernelCall(
        "reference",
        bound.kind,
        {},
        tuple(parameters),
        constants=tuple(constants),
        scratch_bytes=scratch_bytes,
        includes=tuple(sorted(includes)),
        routines=tuple(routines),
    )


KERNEL = Kernel(operator="bidirectional_sequence_lstm", supports=takes_anything, lower=_lower)
