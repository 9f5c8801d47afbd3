"""CIRCULAR_BUFFERs that end most runs: references and generated C against TFLite Micro.

Where a run ends early TFLite Micro leaves outputs to whatever else lies there; they are
compared where it goes on. uhost keeps the results of the last whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_tflite import Node, Subgraph, build, build_file
from interpreters import micro_runtime

from uhost import driver
from uhost.config.board import load_board
from uhost.errors import UnsupportedOperatorError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._op import evaluate
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.toolchain.host_cc import HostCc

runtime = micro_runtime()

RUNS = 14
NEWEST, ROW = (1, 1, 1, 3), 3


def tensor(name: str, slots: int, scale: float = 0.5) -> Tensor:
    return Tensor(name, (1, slots, 1, ROW), DType.INT8, Quantization((scale,), (3,)))


def buffer(source: str, target: str, cycles: int) -> Node:
    return Node("CUSTOM:CIRCULAR_BUFFER", (source,), (target,), {"cycles_max": cycles})


def one() -> bytes:
    """What follows uses the slots and what comes before them."""
    tensors = [tensor("x", 1), tensor("a", 1), tensor("s", 4), tensor("m", 4), tensor("y", 4, 0.25)]
    nodes = [
        Node("RELU", ("x",), ("a",)),
        buffer("a", "s", 3),
        Node("MAXIMUM", ("s", "x"), ("m",)),
        Node("ADD", ("m", "a"), ("y",)),
    ]
    return build(tensors, nodes, ["x"], ["y"], ["s"])


def two() -> bytes:
    """One buffer behind another: every sixth run goes on to the end."""
    crop = Tensor("axis", (2,), DType.INT32, None, np.array([1, 2], np.int32))
    mean = Tensor("m", (1, 1, 1, ROW), DType.INT8, Quantization((0.5,), (3,)))
    tensors = [tensor("x", 1), tensor("s", 3), crop, mean, tensor("t", 2), tensor("y", 2, 0.25)]
    nodes = [
        buffer("x", "s", 2),
        Node("MEAN", ("s", "axis"), ("m",), {"KeepDims": True}),
        buffer("m", "t", 3),
        Node("RELU", ("t",), ("y",)),
    ]
    return build(tensors, nodes, ["x"], ["y"], ["s", "t"])


def last() -> bytes:
    """Nothing follows: the slots move on in every run."""
    return build([tensor("x", 1), tensor("s", 3)], [buffer("x", "s", 2)], ["x"], ["s"], ["s"])


def single() -> bytes:
    """One slot, which nothing has to keep."""
    tensors = [tensor("x", 1), tensor("s", 1), tensor("y", 1, 0.1)]
    return build(tensors, [buffer("x", "s", 2), Node("RELU", ("s",), ("y",))], ["x"], ["y"])


CASES = [
    pytest.param(one(), 3, id="one"),
    pytest.param(two(), 6, id="two"),
    pytest.param(last(), 1, id="last"),
    pytest.param(single(), 2, id="single"),
]


def samples() -> Sequence[Array]:
    random = np.random.default_rng(5)
    return [random.integers(-128, 128, NEWEST).astype(np.int8) for _ in range(RUNS)]


def results(graph: Graph) -> list[Array]:
    """Returns the output of every run, by the references."""
    states: Any = graph.states
    made = []
    for sample in samples():
        values = evaluate(graph, {"x": sample}, states)
        states = {name: values[name] for name in states}
        made.append(values[graph.outputs[0]])
    return made


@pytest.mark.parametrize(("content", "period"), CASES)
def test_runs_that_go_on_equal_tflite_micro(content: bytes, period: int) -> None:
    graph = FRONTEND.load(content, "cycles")
    theirs = runtime.Interpreter.from_bytes(content, arena_size=1 << 16)
    whole = np.zeros(graph.tensors[graph.outputs[0]].shape, np.int8)
    for run, (sample, ours) in enumerate(zip(samples(), results(graph), strict=True), 1):
        theirs.set_input(sample, 0)
        theirs.invoke()
        if run % period == 0:
            whole = ours
            np.testing.assert_array_equal(ours, theirs.get_output(0), f"run {run}")
        np.testing.assert_array_equal(ours, whole, f"run {run}")


def test_a_buffer_of_a_called_graph_that_ends_runs_is_refused() -> None:
    condition = Tensor("c", (1,), DType.BOOL)
    branch = Subgraph([tensor("x", 1), tensor("s", 3)], [buffer("x", "s", 2)], ["x"], ["s"])
    options = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}
    main = Subgraph(
        [condition, tensor("x", 1), tensor("y", 3)],
        [Node("IF", ("c", "x"), ("y",), options)],
        ["c", "x"],
        ["y"],
    )
    with pytest.raises(UnsupportedOperatorError) as caught:
        FRONTEND.load(build_file([main, branch]), "called")
    assert "but for every run number 2 it ends the run of a graph that is called" in str(caught)


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize(("content", "period"), CASES)
def test_generated_code_equals_the_references(content: bytes, period: int, tmp_path: Path) -> None:
    graph, board = FRONTEND.load(content, "cycles"), load_board("host")
    compiled = driver.compile_models((Source(graph, "cycles", b""),), board)
    image = HostCc(sanitize=True).build(compiled.artifact, board, tmp_path)
    with start(Built(compiled, image, tmp_path), device("host", "host")) as executor:
        for turn in range(2):
            for run, (sample, expected) in enumerate(zip(samples(), results(graph), strict=True)):
                executor.set_input(0, sample)
                executor.run()
                np.testing.assert_array_equal(executor.get_output(0), expected, f"{turn}, {run}")
            executor.reset()
