"""Operators that keep state, against TFLite Micro and LiteRT: 32 runs, equal at each.

The same files are read back: a variable of the file is the state it was written from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from build_tflite import from_graph
from interpreters import micro_runtime

from uhost.frontends.tflite import FRONTEND
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.ops._inputs import random_inputs
from uhost.ops._op import OPERATORS, Example, evaluate

RUNS = 32
KINDS = ("svdf", "unidirectional_sequence_lstm", "bidirectional_sequence_lstm")


class Oracle(Protocol):
    """An interpreter that keeps its state."""

    def run(self, inputs: Sequence[Array]) -> list[Array]: ...


class Litert:
    """LiteRT's reference kernels."""

    def __init__(self, content: bytes) -> None:
        self._interpreter = Interpreter(
            model_content=content,
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            num_threads=1,
        )
        self._interpreter.allocate_tensors()

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        details = self._interpreter.get_input_details()
        for detail, array in zip(details, inputs, strict=True):
            self._interpreter.set_tensor(detail["index"], array)
        self._interpreter.invoke()
        outputs = self._interpreter.get_output_details()
        return [self._interpreter.get_tensor(detail["index"]) for detail in outputs]


class Tflm:
    """TFLite Micro."""

    def __init__(self, content: bytes) -> None:
        runtime = micro_runtime()
        self._interpreter = runtime.Interpreter.from_bytes(content, arena_size=1 << 20)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        for index, array in enumerate(inputs):
            self._interpreter.set_input(array, index)
        self._interpreter.invoke()
        return [self._interpreter.get_output(0)]


def oracle_of(example: Example) -> type[Litert] | type[Tflm]:
    """Returns the interpreter that names the arithmetic of an example."""
    if example.graph.operators[0].kind == "bidirectional_sequence_lstm":
        return Litert  # TFLite Micro has none
    attributes = example.graph.operators[0].attributes
    if "hybrid" in example.tags:
        return Litert  # TFLite Micro refuses float32 with int8 weights
    if getattr(attributes, "arithmetic", "tflm") == "litert":
        return Litert
    parts = {"peephole", "norm", "projection", "coupled"}
    return Litert if parts & set(example.tags) else Tflm


def examples() -> Iterator[tuple[str, Example]]:
    for kind in KINDS:
        for example in OPERATORS[kind].examples():
            if not {"fatal_in_tflite", "wrong_in_litert"} & set(example.tags):
                yield kind, example


@pytest.mark.parametrize(
    "example", [pytest.param(example, id=f"{kind}-{example.name}") for kind, example in examples()]
)
def test_states_equal_the_oracle(example: Example) -> None:
    content = from_graph(example.graph)
    oracle: Oracle = oracle_of(example)(content)
    graph = FRONTEND.load(content, example.name)
    check_states(graph, example.graph)
    states = graph.states
    for run in range(RUNS):
        inputs = random_inputs(graph, run)
        ours = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)), states)
        states = {name: ours[name] for name in states}
        for name, theirs in zip(graph.outputs, oracle.run(inputs), strict=True):
            made = ours[name].reshape(theirs.shape)
            if made.dtype == np.float32:
                tolerance = 1e-6 + 1e-5 * float(np.abs(theirs).max())
                np.testing.assert_allclose(made, theirs, rtol=0, atol=tolerance)
            else:
                np.testing.assert_array_equal(made, theirs, err_msg=f"run {run}")


def test_the_first_batch_of_a_merged_output_equals_the_oracle() -> None:
    kind = OPERATORS["bidirectional_sequence_lstm"]
    (example,) = (one for one in kind.examples() if "wrong_in_litert" in one.tags)
    content = from_graph(example.graph)
    graph = FRONTEND.load(content, example.name)
    inputs = random_inputs(graph, 0)
    ours = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))[graph.outputs[0]]
    (theirs,) = Litert(content).run(inputs)
    # The others' hidden states lie past the tensor there, and destroy the cell state.
    np.testing.assert_allclose(ours[0], theirs[0], rtol=0, atol=1e-6)


def check_states(read: Graph, written: Graph) -> None:
    """Fails unless the states came back, with what TFLite Micro fills them with."""
    assert list(read.states) == list(written.states)
    for name, values in written.states.items():
        np.testing.assert_array_equal(read.states[name], values)
    assert read.operators[0].attributes == written.operators[0].attributes
    assert read.operators[0].outputs == written.operators[0].outputs
