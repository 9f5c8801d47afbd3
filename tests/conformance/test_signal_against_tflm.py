"""Random operators of the signal library against TFLite Micro, run after run.

What TFLite Micro leaves unwritten is not compared: energies outside the band, frames and
stacks that are not complete.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from build_tflite import from_graph
from interpreters import micro_runtime
from random_signal import DRAWS

from uhost.frontends.tflite import FRONTEND
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.ops._inputs import random_inputs
from uhost.ops._op import OPERATORS, Example, evaluate
from uhost.ops.signal_energy import SignalEnergyAttributes
from uhost.ops.signal_stacker import SignalStackerAttributes

runtime = micro_runtime()

RUNS = 8
SAMPLE, FAMILY = 3, 60


def inputs_of(graph: Graph, random: np.random.Generator) -> dict[str, Array]:
    """Returns inputs of every magnitude: what shifts and logarithms do depends on it."""
    made: dict[str, Array] = {}
    for name in graph.inputs:
        tensor = graph.tensors[name]
        if not tensor.dtype.is_integer:
            made[name] = random.normal(0, 1000, tensor.shape).astype(np.float32)
            continue
        low, high = (0, 15) if name == "bits" else tensor.dtype.limits
        wide = np.uint64 if low == 0 else np.int64
        values = random.integers(low, high, tensor.shape, wide, endpoint=True)
        if name != "bits":
            values >>= random.integers(0, 8 * tensor.dtype.size_bytes, tensor.shape).astype(wide)
        made[name] = np.array(values, tensor.dtype.numpy)
    return made


def written(graph: Graph, name: str, values: Array, before: Mapping[str, Array]) -> Array:
    """Returns the part of an output that TFLite Micro writes."""
    (operator,) = graph.operators
    at = operator.attributes
    if isinstance(at, SignalEnergyAttributes):
        return values[at.start_index : at.end_index]
    if name != graph.outputs[0] or operator.kind not in ("signal_framer", "signal_stacker"):
        return values
    waits = [int(state[0]) for state in before.values() if state.dtype == np.int32]
    if not isinstance(at, SignalStackerAttributes):
        return values[..., waits[0] if waits else 0 :, :]
    left = waits[0] or at.stacker_right_context + 1
    return values if left == 1 else values[:0]


def check(kind: str, seed: int) -> None:
    random = np.random.default_rng([seed, *kind.encode()])
    content = from_graph(DRAWS[kind](random).graph)
    interpreter = runtime.Interpreter.from_bytes(content, arena_size=1 << 20)
    graph = FRONTEND.load(content, kind)
    states: Mapping[str, Array] = graph.states
    for run in range(RUNS):
        inputs = inputs_of(graph, random)
        for index, array in enumerate(inputs.values()):
            interpreter.set_input(array, index)
        interpreter.invoke()
        ours = evaluate(graph, inputs, states)
        for index, name in enumerate(graph.outputs):
            theirs = interpreter.get_output(index).reshape(ours[name].shape)
            one, other = (written(graph, name, each, states) for each in (ours[name], theirs))
            if one.dtype == np.float32:
                tolerance = 1e-6 + 1e-5 * float(np.abs(other).max())
                np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
            else:
                where = f"seed {seed}, run {run}, {graph.operators[0].attributes}"
                np.testing.assert_array_equal(one, other, err_msg=where)
        states = {name: ours[name] for name in graph.states}


def test_every_signal_operator_is_drawn() -> None:
    assert set(DRAWS) == {kind for kind in OPERATORS.names() if kind.startswith("signal_")}


@pytest.mark.parametrize("kind", DRAWS)
def test_a_sample_equals_tflite_micro(kind: str) -> None:
    for seed in range(SAMPLE):
        check(kind, seed)


@pytest.mark.full
@pytest.mark.parametrize("kind", DRAWS)
def test_the_family_equals_tflite_micro(kind: str) -> None:
    for seed in range(SAMPLE, FAMILY):
        check(kind, seed)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(one, id=one.name)
        for one in OPERATORS["circular_buffer"].examples()
        if not one.name.endswith("_cycles")
    ],
)
def test_a_circular_buffer_equals_tflite_micro(example: Example) -> None:
    content = from_graph(example.graph)
    interpreter = runtime.Interpreter.from_bytes(content, arena_size=1 << 16)
    graph = FRONTEND.load(content, example.name)
    states = graph.states
    for run in range(RUNS):
        (newest,) = random_inputs(graph, run)
        interpreter.set_input(newest, 0)
        interpreter.invoke()
        ours = evaluate(graph, {"newest": newest}, states)
        states = {name: ours[name] for name in states}
        theirs = interpreter.get_output(0)
        # Before the first run its slots are whatever the memory held.
        made = slice(-min(run + 1, theirs.shape[1]), None)
        np.testing.assert_array_equal(ours["slots"][:, made], theirs[:, made])
