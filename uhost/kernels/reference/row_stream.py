"""A chain of operators row by row: a loop that makes a row wherever one can be made.

Every row is made by the kernel that is best for a strip of one window. The rings lie in the
scratch memory, and so does the scratch memory of those kernels: where a ring is empty whenever
a kernel runs, both have the same bytes. The source gives way as it is read: result and scratch
memory may run into the rows that nothing reads any more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, NestedCall, Parameter, Routine
from uhost.kernels.reference._calls import never
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.kernels.reference._row_memory import layout_of, overlaps_of
from uhost.ops._rows import Reading, Stage, Stream, passes_of, stream_of
from uhost.ops.row_stream import RowStreamAttributes
from uhost.targets._work import Work


def _lower(bound: BoundOperator[RowStreamAttributes], routines: Sequence[Routine]) -> KernelCall:
    stream = stream_of(bound.attributes.whole)
    passes = list(passes_of(stream))
    numbers = _numbers(stream)
    scratch = [
        max(routines[number].calls[0].call.scratch_bytes for number in own) for own in numbers
    ]
    layout = layout_of(stream, passes, scratch)
    parameters, constants, own = _constants(routines)
    named = []
    for index, (stage, versions) in enumerate(zip(stream.stages, numbers, strict=True)):
        for version, number in enumerate(versions):
            place = layout.scratch.get(index, 0)
            arguments = _Arguments(stream, stage, version, place, own[number])
            named.append(_renamed(routines[number], arguments))
    values = {
        "rings": tuple(_ring(stream, name, at) for name, at in layout.rings.items()),
        "fills": tuple(
            (_variable(stream, name), ring.padding_byte, ring.before * ring.row_bytes)
            for name, ring in stream.rings.items()
            if ring.before
        ),
        "height": stream.result.shape[1],
        "stages": tuple(
            _stage(stream, stage, versions)
            for stage, versions in zip(stream.stages, numbers, strict=True)
        ),
    }
    return KernelCall(
        "reference",
        bound.kind,
        values,
        (
            input_parameter(bound.input(0)),
            output_parameter(bound.output),
            *parameters,
            Parameter("memory", "uint8_t *", "scratch"),
        ),
        constants=constants,
        scratch_bytes=layout.size_bytes,
        includes=tuple(
            dict.fromkeys(
                [*_includes(stream), *(i for r in named for c in r.calls for i in c.call.includes)]
            )
        ),
        overlaps=overlaps_of(stream, passes, layout, scratch),
        routines=tuple(named),
    )


def _numbers(stream: Stream) -> list[list[int]]:
    """Returns, of each stage, the numbers of the routines that are its versions."""
    numbers, first = [], 0
    for stage in stream.stages:
        numbers.append(list(range(first, first + len(stage.versions))))
        first += len(stage.versions)
    return numbers


def _includes(stream: Stream) -> list[str]:
    """Returns the shared pieces of C that the loop calls."""
    padded = any(
        ring.before or ring.total > ring.before + ring.height for ring in stream.rings.values()
    )
    readings = [reading.tensor for stage in stream.stages for reading in stage.readings]
    shared = any(readings.count(name) > 1 for name in stream.rings)
    return ["copy_run", "rows", *["rows_fill"] * padded, *["rows_lesser"] * shared]


# Printing


def _variable(stream: Stream, name: str) -> str:
    """Returns what the ring of a tensor is called: by the operator that makes it."""
    maker = next(stage.bound.name for stage in stream.stages if stage.output.name == name)
    return re.sub(r"\W", "_", f"{maker}_rows")


def _ring(stream: Stream, name: str, offset: int) -> tuple[str, int, int, str]:
    ring = stream.rings[name]
    _, _, width, channels = ring.tensor.shape
    rows = f"{ring.capacity} row{'s' * (ring.capacity > 1)} of {width}x{channels}"
    return _variable(stream, name), offset, ring.before, rows


def _affine(variable: str, factor: int, term: int) -> str:
    """Returns factor·variable + term in C."""
    product = variable if factor == 1 else f"{factor} * {variable}"
    return product if not term else f"{product} {'+' if term > 0 else '-'} {abs(term)}"


def _row(stream: Stream, stage: Stage, factor: int = 1, term: int = 0) -> str:
    """Returns factor·r + term in C, r being the row that the stage makes next."""
    ring = stream.rings.get(stage.output.name)
    if ring is None:
        return _affine("done", factor, term)
    return _affine(
        f"{_variable(stream, stage.output.name)}.made", factor, term - factor * ring.before
    )


def _stage(stream: Stream, stage: Stage, numbers: Sequence[int]) -> tuple[object, ...]:
    """Returns note, conditions, padding, versions, counter and rings as the template prints them.

    The rings are those that the stage reads: variable, first row to keep, bytes of a row.
    """
    name = stage.output.name
    ring = stream.rings.get(name)
    there = [
        f"{_variable(stream, r.tensor)}.made >= {_row(stream, stage, r.stride, r.offset + r.span)}"
        for r in stage.readings
        if r.tensor in stream.rings
    ]
    conditions, padding, counter = there, "", "done"
    tests = _tests(stream, stage)
    if ring is not None:
        variable = _variable(stream, name)
        counter = f"{variable}.made"
        end = ring.before + ring.height
        if ring.total > end:
            made = f"{counter} >= {end}"
            if there:
                both = there[0] if len(there) == 1 else f"({' && '.join(there)})"
                conditions = [f"({made} || {both})"]
            to = f"uhost_rows_next(&{variable}, {ring.row_bytes})"
            padding = f"uhost_rows_fill({to}, {ring.padding_byte}, {ring.row_bytes});"
            tests = [test or f"{counter} < {end}" for test in tests]
        room = f"{variable}.made - {variable}.first < {ring.capacity}"
        conditions = [f"{counter} < {ring.total}", room, *conditions]
    elif not conditions:
        conditions = [f"done < {stage.output.shape[1]}"]
    _, _, width, channels = stage.output.shape
    note = f"{stage.bound.kind.upper()} ({stage.bound.name}): a row of {width}x{channels}"
    versions = tuple(zip(tests, numbers, strict=True))
    rings = dict.fromkeys(r.tensor for r in stage.readings if r.tensor in stream.rings)
    kept = tuple(
        (_variable(stream, one), _kept(stream, one), stream.rings[one].row_bytes) for one in rings
    )
    return note, tuple(conditions), padding, versions, counter, kept


def _kept(stream: Stream, name: str) -> str:
    """Returns the first row of a ring that is still to be read, in C."""
    starts = [
        _row(stream, reader, reading.stride, reading.offset)
        for reader in stream.stages
        for reading in reader.readings
        if reading.tensor == name
    ]
    least = starts[0]
    for one in starts[1:]:
        least = f"uhost_rows_lesser({least}, {one})"
    return least


def _tests(stream: Stream, stage: Stage) -> list[str]:
    """Returns what each version's rows have in common in C; "" for the last."""
    row = _row(stream, stage)
    tests = [
        f"{row} == {one.last}" if one.first == one.last else f"{row} <= {one.last}"
        for one in stage.versions
    ]
    tests[-1] = ""
    return tests


@dataclass(frozen=True, slots=True, eq=False)
class _Arguments:
    """What one version of a stage is called with."""

    stream: Stream
    stage: Stage
    version: int
    scratch: int
    constants: dict[str, str]

    def of(self, parameter: Parameter) -> str:
        """Returns the argument of a parameter in C."""
        ctype = parameter.ctype.removesuffix("restrict")
        if parameter.source == "scratch":
            return f"({ctype})(memory{f' + {self.scratch}' if self.scratch else ''})"
        if parameter.source == "output":
            return self._output()
        index = parameter.index
        reading = next(r for r in self.stage.readings if r.index == index)
        return self._window(reading)

    def _output(self) -> str:
        output = self.stage.output
        ring = self.stream.rings.get(output.name)
        if ring is None:
            return f"output + done * {_row_elements(output)}"
        rows = _variable(self.stream, output.name)
        return f"uhost_rows_next(&{rows}, {ring.row_bytes})"

    def _window(self, reading: Reading) -> str:
        ring = self.stream.rings.get(reading.tensor)
        if ring is None:
            if self.stage.versions[self.version].top:
                return "input"
            start = _row(self.stream, self.stage, reading.stride, reading.offset)
            return f"input + ({start}) * {_row_elements(self.stream.source)}"
        rows = _variable(self.stream, reading.tensor)
        start = _row(self.stream, self.stage, reading.stride, reading.offset)
        return f"uhost_rows_at(&{rows}, {start}, {ring.row_bytes})"


def _row_elements(tensor: Tensor) -> int:
    return tensor.elements // tensor.shape[1]


def _constants(
    routines: Sequence[Routine],
) -> tuple[tuple[Parameter, ...], tuple[Constant, ...], list[dict[str, str]]]:
    """Returns parameters and constants, equal ones once, and each routine's names for them."""
    parameters: list[Parameter] = []
    constants: list[Constant] = []
    known: dict[tuple[str, str, bytes], str] = {}
    names: list[dict[str, str]] = []
    for routine in routines:
        own = {}
        for parameter in routine.parameters:
            constant = routine.constants[parameter.index]
            values = np.ascontiguousarray(constant.values)
            key = parameter.ctype, str(values.dtype), values.tobytes()
            if key not in known:
                name = parameter.name
                while any(name == p.name for p in parameters):
                    name += "_"
                known[key] = name
                parameters.append(Parameter(name, parameter.ctype, "constant", len(constants)))
                constants.append(Constant(name, values, constant.alignment))
            own[parameter.name] = known[key]
        names.append(own)
    return tuple(parameters), tuple(constants), names


def _renamed(routine: Routine, arguments: _Arguments) -> Routine:
    """Returns a routine of one call with its arguments as they are in the loop."""
    [nested] = routine.calls
    names = []
    for parameter, before in zip(nested.call.parameters, nested.arguments, strict=True):
        names.append(arguments.constants.get(before) or arguments.of(parameter))
    return replace(
        routine, calls=(NestedCall(nested.call, tuple(names), nested.note, nested.cost),)
    )


# Cost

_ROUND = Work(alu=6, load=6, branch=2, untaken=1)
"""Trying one stage once, about."""

_MOVED_WORD = Work(alu=1, load=1, store=1)
_ROW = Work(alu=12, load=6, store=6, branch=4)
"""Making a row, besides the kernel: room, and the arguments."""

_STAGE_BYTES, _VERSION_BYTES, _OWN_BYTES = 110, 50, 220


def _cost(bound: BoundOperator[RowStreamAttributes], call: KernelCall) -> Cost:
    """Returns the cost of all rows, and of the loop: that within some parts in a hundred."""
    stream = stream_of(bound.attributes.whole)
    numbers = _numbers(stream)
    passes = list(passes_of(stream))
    work, moved, code = Work(), 0, _OWN_BYTES
    shared: dict[str, int] = {}
    functions: dict[object, int] = {}
    for one in passes:
        moved += one.moved
        if one.version is not None:
            nested = call.routines[numbers[one.stage][one.version]].calls[0]
            if nested.cost is not None:
                work += nested.cost.work
    for routine in call.routines:
        nested = routine.calls[0]
        code += _VERSION_BYTES
        if nested.cost is not None:
            functions[nested.call.function_key] = nested.cost.code_bytes
            shared |= nested.cost.shared_bytes
    code += sum(functions.values()) + _STAGE_BYTES * len(stream.stages)
    loop = len(passes) * (_ROW + _ROUND) + (moved // 4) * _MOVED_WORD
    return Cost(work + loop, code, shared)


KERNEL = Kernel(
    operator="row_stream",
    supports=takes_anything,
    lower=never,
    cost=_cost,
    lower_calling=_lower,
)
