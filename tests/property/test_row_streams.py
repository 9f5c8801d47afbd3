"""Chains that run row by row: every row once, from the rows that it is made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from uhost.codegen.stream import chains, streamed
from uhost.config.compilation import Pool
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Quantization, Tensor
from uhost.ops._op import Activation, Padding2D, UnsupportedNodeError
from uhost.ops._pooling import PoolAttributes
from uhost.ops._rows import Stream, passes_of, stream_of
from uhost.ops._split import SplitAttributes
from uhost.ops.add import AddAttributes
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.row_stream import RowStreamAttributes, row_stream
from uhost.planner import plan_memory

WIDTH = 4
SCALED = Quantization((0.1,), (0,))


def image(name: str, height: int) -> Tensor:
    return Tensor(name, (1, height, WIDTH, 1), DType.INT8, SCALED)


def conv(
    number: int, source: Tensor, window: int, stride: int, before: int, after: int
) -> tuple[Operator, list[Tensor]]:
    height = (source.shape[1] + before + after - window) // stride + 1
    weights = Tensor(
        f"w{number}",
        (1, window, 1, 1),
        DType.INT8,
        replace(SCALED, axis=0),
        np.ones((1, window, 1, 1), np.int8),
    )
    made = image(f"t{number}", height)
    padding = Padding2D(before, 0, after, 0)
    at = Conv2DAttributes((stride, 1), (1, 1), padding, Activation.NONE)
    names = (source.name, weights.name)
    return Operator(f"conv_{number}", "conv_2d", names, (made.name,), at), [weights, made]


def drawn(rng: np.random.Generator) -> Graph | None:
    """Returns a chain of two to five convolutions, at times with a sum across it."""
    last = image("source", int(rng.integers(4, 24)))
    tensors, operators = {last.name: last}, list[Operator]()
    for number in range(int(rng.integers(2, 6))):
        window, stride = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        before, after = (int(rng.integers(0, window)) for _ in range(2))
        if last.shape[1] + before + after < window:
            return None
        operator, made = conv(number, last, window, stride, before, after)
        tensors |= {one.name: one for one in made}
        operators.append(operator)
        last = made[1]
    alike = [o.outputs[0] for o in operators[:-1] if tensors[o.outputs[0]].shape == last.shape]
    if alike:
        total = image("sum", last.shape[1])
        tensors["sum"] = total
        at = AddAttributes(Activation.NONE)
        operators.append(Operator("add", "add", (alike[0], last.name), ("sum",), at))
        last = total
    return Graph("drawn", tensors, tuple(operators), ("source",), (last.name,))


def replay(stream: Stream) -> int:
    """Fails unless every window is there when it is read; returns the rows of the result.

    Rings are lists of rows, padding negative or beyond the height; a row leaves where no stage
    reads it for a row that it has not made.
    """
    rings = {name: list(range(-ring.before, 0)) for name, ring in stream.rings.items()}
    next_row = {stage.output.name: 0 for stage in stream.stages}
    made: set[tuple[str, int]] = set()
    for one in passes_of(stream):
        stage = stream.stages[one.stage]
        name, axis = stage.output.name, stage.rows.axis
        assert one.row == next_row[name]
        if one.version is not None:
            assert (name, one.row) not in made
            made.add((name, one.row))
            for tensor, first, rows in one.reads:
                start = one.row * axis.stride - axis.before
                window = list(range(start, start + axis.span))
                if tensor == stream.source.name:
                    window = [row for row in window if 0 <= row < stream.source.shape[1]]
                    assert list(range(first, first + rows)) == window
                else:
                    assert rings[tensor][first : first + rows] == window
        if name in rings:
            assert one.place == len(rings[name]) < stream.rings[name].capacity
            rings[name].append(one.row)
        next_row[name] += 1
        assert dict(one.held) == {n: len(rows) for n, rows in rings.items() if rows}
        for tensor in {reading.tensor for reading in stage.readings} & rings.keys():
            needed = min(
                next_row[reader.output.name] * reader.rows.axis.stride - reader.rows.axis.before
                for reader in stream.stages
                if any(reading.tensor == tensor for reading in reader.readings)
            )
            rings[tensor] = [row for row in rings[tensor] if row >= needed]
    return next_row[stream.result.name]


@pytest.mark.parametrize("seed", range(8))
def test_every_row_is_made_once_of_the_rows_that_it_needs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    checked = 0
    while checked < 40:
        graph = drawn(rng)
        if graph is None:
            continue
        try:
            stream = stream_of(graph)
        except UnsupportedNodeError:
            continue
        assert replay(stream) == stream.result.shape[1]
        checked += 1


def test_rings_hold_no_more_rows_than_a_window_where_each_is_read_at_once() -> None:
    source = image("source", 12)
    first, made = conv(0, source, 3, 1, 1, 1)
    second, last = conv(1, made[1], 3, 2, 0, 1)
    tensors = {t.name: t for t in (source, *made, *last)}
    graph = Graph("two", tensors, (first, second), ("source",), ("t1",))
    stream = stream_of(graph)
    assert {name: ring.capacity for name, ring in stream.rings.items()} == {"t0": 3}
    # Padding above and below the source is a version each, and the rows between them one.
    versions = [(one.top, one.bottom) for one in stream.stages[0].versions]
    assert versions == [(1, 0), (0, 0), (0, 1)]


def pooled(height: int, padding: Padding2D) -> Graph:
    source, made = image("source", height), image("t0", (height + padding.bottom) // 2)
    at = PoolAttributes((2, 1), (2, 1), padding, Activation.NONE)
    pool = Operator("pool", "max_pool_2d", ("source",), ("t0",), at)
    after, last = conv(1, made, 1, 1, 0, 0)
    tensors = {t.name: t for t in (source, made, *last)}
    return Graph("pooled", tensors, (pool, after), ("source",), ("t1",))


def test_padding_that_is_left_out_of_windows_is_no_row() -> None:
    assert replay(stream_of(pooled(8, Padding2D()))) == 4
    with pytest.raises(UnsupportedNodeError, match="pool leaves padding out"):
        stream_of(pooled(7, Padding2D(bottom=1)))


def test_rows_are_whole_words() -> None:
    graph = pooled(8, Padding2D())
    odd = {
        name: tensor if tensor.is_constant else replace(tensor, shape=(1, tensor.shape[1], 3, 1))
        for name, tensor in graph.tensors.items()
    }
    with pytest.raises(UnsupportedNodeError, match="not of whole words"):
        stream_of(Graph("odd", odd, graph.operators, graph.inputs, graph.outputs))


def growing(outputs: tuple[str, ...]) -> Graph:
    """Returns a graph whose middle tensor is by far the largest, and which may be an output."""
    source, wide, small = (
        Tensor(name, (1, 16, WIDTH, depth), DType.INT8, SCALED)
        for name, depth in (("source", 1), ("wide", 16), ("small", 1))
    )
    operators = []
    tensors = {t.name: t for t in (source, wide, small)}
    for number, (x, y) in enumerate(((source, wide), (wide, small))):
        shape = (y.shape[3], 3, 1, x.shape[3])
        scale = Quantization((0.1,) * shape[0], (0,) * shape[0], axis=0)
        weights = Tensor(f"w{number}", shape, DType.INT8, scale, np.ones(shape, np.int8))
        at = Conv2DAttributes((1, 1), (1, 1), Padding2D(1, 0, 1, 0), Activation.NONE)
        names = (x.name, weights.name)
        operators.append(Operator(f"conv_{number}", "conv_2d", names, (y.name,), at))
        tensors[weights.name] = weights
    return Graph("growing", tensors, tuple(operators), ("source",), outputs)


def test_a_chain_is_found_where_it_makes_the_arena_smaller() -> None:
    graph = growing(("small",))
    plan = plan_memory(graph, frozenset(), {}, Pool("ram"), 8)
    [chain] = chains(graph, plan)
    assert (chain.first, chain.last, chain.row_bytes) == (0, 1, 3 * WIDTH * 16)
    one = streamed(graph, chain)
    [operator] = one.operators
    assert [a.operator for a in operator.absorbed] == ["conv_0", "conv_1"]
    one.verify()


def test_what_others_read_is_made_whole() -> None:
    graph = growing(("small", "wide"))
    assert not chains(graph, plan_memory(graph, frozenset(), {}, Pool("ram"), 8))


def test_a_chain_reads_its_source_and_makes_its_end() -> None:
    graph = growing(("small",))
    operator = row_stream(graph, "row_stream")
    assert operator.inputs == ("source",)
    assert operator.outputs == ("small",)
    assert isinstance(operator.attributes, RowStreamAttributes)
    assert len(operator.attributes.called) == 4  # three versions at the source, one at the ring


def test_a_chain_that_would_end_in_several_tensors_is_none() -> None:
    graph = growing(("small",))
    halves = [Tensor(name, (1, 8, WIDTH, 1), DType.INT8, SCALED) for name in ("upper", "lower")]
    split = Operator("split", "split", ("small",), ("upper", "lower"), SplitAttributes(1, (8, 8)))
    tensors = {**graph.tensors, **{half.name: half for half in halves}}
    parted = Graph("parted", tensors, (*graph.operators, split), ("source",), ("upper", "lower"))
    plan = plan_memory(parted, frozenset(), {}, Pool("ram"), 8)
    assert [(one.first, one.last) for one in chains(parted, plan)] == [(0, 1)]
