"""Operators that make their output row by row: which rows of the input a row is made of.

A chain of such operators can run row by row, so that the tensors between them never exist
whole: each is a *ring*, which holds the rows that are still to be read. `stream_of` finds out
how many those are, by letting every row be made when it is first needed, and `passes_of`
follows the loop that the generated code runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator, Graph, Operator
from uhost.ir.tensor import Tensor
from uhost.ops._op import OPERATORS, UnsupportedNodeError
from uhost.ops._window import Axis

ROW_ALIGNMENT_BYTES = 4
"""Rows begin at multiples of this: kernels read words."""


@dataclass(frozen=True, slots=True)
class Rows:
    """How an operator makes one row of its output.

    `axis` is its window over the rows of the inputs that are no constants. `strip` returns the
    attributes for an input of one window alone, of which `top` and `bottom` rows more are
    padding. `pads`: padding counts as rows of real zero.
    """

    axis: Axis
    strip: Callable[[int, int], Attributes]
    pads: bool = False


def element_rows(bound: BoundOperator[Any]) -> Rows | None:
    """Returns the rows of an operator whose elements are made of the elements at their place.

    None where an operand is stretched, or is a constant with rows of its own.
    """
    shape = bound.output.shape
    operands = [tensor for tensor in bound.inputs if tensor is not None]
    for tensor in operands:
        if tensor.is_constant and (len(tensor.shape) < 3 or tensor.shape[-3] == 1):
            continue
        if tensor.is_constant or tensor.shape != shape:
            return None
    if len(shape) != 4:
        return None
    return Rows(Axis(shape[1], 1, 1, 1, 0, 0), lambda top, bottom: bound.attributes)


def padded_rows(bound: BoundOperator[Any], axis: Axis) -> Rows:
    """Returns the rows of an operator that has its padding, by real zero, as an attribute."""
    at = bound.attributes

    def strip(top: int, bottom: int) -> Attributes:
        made: Attributes = replace(at, padding=replace(at.padding, top=top, bottom=bottom))
        return made

    return Rows(axis, strip, pads=True)


@dataclass(frozen=True, slots=True)
class Ring:
    """Rows of a tensor that is never whole, counted from its first row of padding.

    `before` rows of padding come first, `total` rows are made in all, `capacity` at most are
    held at once.
    """

    tensor: Tensor
    before: int
    total: int
    capacity: int

    @property
    def height(self) -> int:
        """Rows of the tensor itself."""
        return self.tensor.shape[1]

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.tensor.size_bytes // self.height

    @property
    def size_bytes(self) -> int:
        """Bytes of all rows that are held at once."""
        return self.capacity * self.row_bytes

    @property
    def padding_byte(self) -> int:
        """The byte that rows of padding consist of: that of real zero."""
        return self.tensor.zero_point & 0xFF if self.tensor.dtype is DType.INT8 else 0


@dataclass(frozen=True, slots=True)
class Reading:
    """Window of an input: row r of the output reads from row r·stride + offset, `span` rows.

    `index` is that of the input. Rows are those of a ring, or those of the whole source, where
    rows outside are padding.
    """

    index: int
    tensor: str
    stride: int
    offset: int
    span: int

    def start(self, row: int) -> int:
        """Returns the first row that row `row` of the output reads."""
        return row * self.stride + self.offset


@dataclass(frozen=True, slots=True)
class Version:
    """What makes rows `first` to `last`: of their window of the source, so much is padding."""

    top: int
    bottom: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """An operator of a stream: what it reads, and its versions, in the order of their rows.

    There is one version, without padding, where only rings are read.
    """

    bound: BoundOperator[Any]
    rows: Rows
    readings: tuple[Reading, ...]
    versions: tuple[Version, ...]

    @property
    def output(self) -> Tensor:
        """What it makes."""
        return self.bound.output


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A chain of operators that runs row by row, from one whole tensor to another."""

    source: Tensor
    stages: tuple[Stage, ...]
    rings: dict[str, Ring]

    @property
    def result(self) -> Tensor:
        """What the last operator makes, whole."""
        return self.stages[-1].output


def _rows_of(bound: BoundOperator[Any]) -> Rows:
    rows: Rows | None = OPERATORS[bound.kind].rows(bound)
    tensors = [t for t in (*bound.inputs, *bound.outputs) if t is not None and not t.is_constant]
    if rows is None or len(bound.outputs) != 1:
        raise UnsupportedNodeError(f"{bound.name} does not work row by row")
    for tensor in tensors:
        if len(tensor.shape) != 4 or tensor.shape[0] != 1:
            raise UnsupportedNodeError(f"'{tensor.name}' is no single image")
        if tensor.size_bytes // tensor.shape[1] % ROW_ALIGNMENT_BYTES:
            raise UnsupportedNodeError(f"rows of '{tensor.name}' are not of whole words")
    axis = rows.axis
    if not rows.pads and (axis.starts_outside or axis.ends_outside):
        raise UnsupportedNodeError(f"{bound.name} leaves padding out")
    return rows


def stream_of(graph: Graph) -> Stream:
    """Returns how a graph of one input and one output runs row by row.

    The graph's last operator makes its output; all else is read within it. Raises
    `UnsupportedNodeError` with the reason where it cannot.
    """
    [source], [result] = graph.inputs, graph.outputs
    bounds = list(graph.bound_operators())
    every = [(bound, _rows_of(bound)) for bound in bounds]
    before: dict[str, int] = {}
    for bound, rows in every:
        for tensor in _read(bound):
            before[tensor.name] = max(before.get(tensor.name, 0), rows.axis.before)
    stages = []
    total: dict[str, int] = {}
    for bound, rows in every:
        axis, readings = rows.axis, []
        for index, operand in enumerate(bound.inputs):
            if operand is None or operand.is_constant:
                continue
            tensor, offset = operand, -axis.before
            if tensor.name != source:
                offset += before[tensor.name]
                needed = (axis.output - 1) * axis.stride + offset + axis.span
                total[tensor.name] = max(total.get(tensor.name, 0), needed)
            readings.append(Reading(index, tensor.name, axis.stride, offset, axis.span))
        stages.append(Stage(bound, rows, tuple(readings), _versions(rows, readings, source)))
    unread = [s.output.name for s in stages if s.output.name not in {*total, result}]
    if unread or result in total:
        raise UnsupportedNodeError("a tensor within the chain is needed whole")
    rings = {
        stage.output.name: Ring(
            stage.output, before[stage.output.name], total[stage.output.name], 0
        )
        for stage in stages[:-1]
    }
    stream = Stream(graph.tensors[source], tuple(stages), rings)
    held = _most_held(stream)
    return replace(stream, rings={n: replace(r, capacity=held[n]) for n, r in rings.items()})


def _read(bound: BoundOperator[Any]) -> list[Tensor]:
    return [t for t in bound.inputs if t is not None and not t.is_constant]


def _versions(rows: Rows, readings: Sequence[Reading], source: str) -> tuple[Version, ...]:
    axis = rows.axis
    if all(reading.tensor != source for reading in readings):
        return (Version(0, 0, 0, axis.output - 1),)
    if len(readings) > 1 and (axis.starts_outside or axis.ends_outside):
        raise UnsupportedNodeError("several padded inputs")
    found: list[Version] = []
    for row in range(axis.output):
        first = row * axis.stride - axis.before
        top, bottom = max(-first, 0), max(first + axis.span - axis.size, 0)
        if found and (found[-1].top, found[-1].bottom) == (top, bottom):
            found[-1] = replace(found[-1], last=row)
        else:
            found.append(Version(top, bottom, row, row))
    return tuple(found)


class _Progress:
    """How many rows of each ring were made, and the first that is still held."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.made = {name: ring.before for name, ring in stream.rings.items()}
        self.made[stream.result.name] = 0
        self.first = dict.fromkeys(stream.rings, 0)

    def row(self, stage: Stage) -> int:
        """Returns the row that a stage makes next, not counting padding."""
        name = stage.output.name
        ring = self.stream.rings.get(name)
        return self.made[name] - (ring.before if ring else 0)

    def is_padding(self, stage: Stage) -> bool:
        """True if the stage has no row left to make but those of padding."""
        return self.row(stage) >= stage.output.shape[1]

    def drop(self, name: str) -> int:
        """Gives up the rows of a ring that nothing reads any more; returns bytes moved for it."""
        kept = min(
            reading.start(self.row(stage))
            for stage in self.stream.stages
            for reading in stage.readings
            if reading.tensor == name
        )
        kept = min(kept, self.made[name])
        if kept <= self.first[name]:
            return 0
        self.first[name] = kept
        return (self.made[name] - kept) * self.stream.rings[name].row_bytes

    def can_make(self, stage: Stage) -> bool:
        """True if all that the stage's next row is made of is there, and room for it."""
        name = stage.output.name
        ring = self.stream.rings.get(name)
        if ring is None and self.is_padding(stage):
            return False
        if ring is not None:
            held = self.made[name] - self.first[name]
            if self.made[name] >= ring.total or held >= ring.capacity:
                return False
        return self.is_padding(stage) or all(
            self.made[reading.tensor] >= reading.start(self.row(stage)) + reading.span
            for reading in stage.readings
            if reading.tensor in self.stream.rings
        )

    def make(self, number: int, stage: Stage) -> Pass:
        """Makes the stage's next row, and gives up what was read for the last time."""
        name, row, version = stage.output.name, self.row(stage), None
        place = self.made[name] - self.first.get(name, 0)
        reads: list[tuple[str, int, int]] = []
        if not self.is_padding(stage):
            version = next(v for v, one in enumerate(stage.versions) if row <= one.last)
            padded = stage.versions[version]
            for reading in stage.readings:
                start = reading.start(row)
                if reading.tensor in self.stream.rings:
                    start -= self.first[reading.tensor]
                    reads.append((reading.tensor, start, reading.span))
                else:
                    rows = reading.span - padded.top - padded.bottom
                    reads.append((reading.tensor, start + padded.top, rows))
        self.made[name] += 1
        held = tuple(
            (one, self.made[one] - self.first[one])
            for one in self.stream.rings
            if self.made[one] > self.first[one]
        )
        rings = [r.tensor for r in stage.readings if r.tensor in self.stream.rings]
        moved = sum(self.drop(one) for one in dict.fromkeys(rings))
        return Pass(number, version, row, place, tuple(reads), held, moved)


def _most_held(stream: Stream) -> dict[str, int]:
    """Returns the most rows that each ring holds, if every row is made when it is first needed."""
    progress, held = _Progress(stream), dict.fromkeys(stream.rings, 0)
    makers = {stage.output.name: stage for stage in stream.stages}

    def make(stage: Stage) -> None:
        name = stage.output.name
        if not progress.is_padding(stage):
            for reading in stage.readings:
                if reading.tensor in stream.rings:
                    end = reading.start(progress.row(stage)) + reading.span
                    while progress.made[reading.tensor] < end:
                        make(makers[reading.tensor])
        progress.made[name] += 1
        if name in held:
            held[name] = max(held[name], progress.made[name] - progress.first[name])
        for reading in stage.readings:
            if reading.tensor in stream.rings:
                progress.drop(reading.tensor)

    for _ in range(stream.result.shape[1]):
        make(stream.stages[-1])
    return held


@dataclass(frozen=True, slots=True)
class Pass:
    """One row is made: `version` of a stage, or padding where that is None.

    `place` is the row's place in its ring, or in the result. `reads` are tensor, first row and
    rows, of the source or of a ring as it lies, by reading. `held` is ring → rows that it holds
    meanwhile, from its beginning on; `moved` are the bytes moved there afterwards, where rows
    that nothing reads any more gave way.
    """

    stage: int
    version: int | None
    row: int
    place: int
    reads: tuple[tuple[str, int, int], ...]
    held: tuple[tuple[str, int], ...]
    moved: int


def passes_of(stream: Stream) -> Iterator[Pass]:
    """Yields what the generated loop does, in order.

    Each round of it tries every stage once: a row is made if the rows that it is made of are
    there, and its ring has room.
    """
    progress = _Progress(stream)
    result = stream.result
    while progress.made[result.name] < result.shape[1]:
        for number, stage in enumerate(stream.stages):
            if progress.can_make(stage):
                yield progress.make(number, stage)


def strip_of(stage: Stage, version: int) -> Graph:
    """Returns the graph of one operator that makes one row of one window."""
    top, bottom = stage.versions[version].top, stage.versions[version].bottom
    bound, span = stage.bound, stage.rows.axis.span
    inputs = []
    for tensor in bound.inputs:
        if tensor is not None and not tensor.is_constant:
            _, _, width, channels = tensor.shape
            rows = (1, span - top - bottom, width, channels)
            tensor = replace(tensor, name=f"rows of {tensor.name}", shape=rows)
        inputs.append(tensor)
    output = bound.output
    made = replace(output, name=f"row of {output.name}", shape=(1, 1, *output.shape[2:]))
    named = [tensor for tensor in inputs if tensor is not None]
    operator = Operator(
        bound.name,
        bound.kind,
        tuple(tensor.name if tensor is not None else "" for tensor in inputs),
        (made.name,),
        stage.rows.strip(top, bottom),
    )
    feeds = tuple(dict.fromkeys(t.name for t in named if not t.is_constant))
    tensors = {tensor.name: tensor for tensor in (*named, made)}
    return Graph(bound.name, tensors, (operator,), feeds, (made.name,))
