"""IF, WHILE and CIRCULAR_BUFFER against TFLite Micro and LiteRT, run after run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from build_tflite import Node, Subgraph, build, build_file
from interpreters import micro_runtime

from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._op import evaluate

RUNS = 32
QUANTIZATION = Quantization((0.05,), (-7,))


def micro(content: bytes) -> Any:
    runtime = micro_runtime()
    return runtime.Interpreter.from_bytes(content, arena_size=1 << 20)


def tensor(name: str, size: int, dtype: DType, values: Array | None = None) -> Tensor:
    quantization = QUANTIZATION if dtype is DType.INT8 else None
    return Tensor(name, (1, size), dtype, quantization, values)


def branching(dtype: DType) -> bytes:
    """x plus a constant where c, else x times x; then that plus x."""

    def names(*names: str) -> tuple[Tensor, ...]:
        return tuple(tensor(name, 6, dtype) for name in names)

    kept = np.arange(-3, 3).astype(dtype.numpy).reshape(1, 6)
    options = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
    model = Subgraph(
        (Tensor("c", (1,), DType.BOOL), *names("x", "y", "z")),
        [Node("IF", ("c", "x"), ("y",), options), Node("ADD", ("y", "x"), ("z",))],
        ("c", "x"),
        ("z",),
    )
    first = Subgraph(
        (*names("a", "b"), tensor("k", 6, dtype, kept)),
        [Node("ADD", ("a", "k"), ("b",))],
        ("a",),
        ("b",),
    )
    second = Subgraph(names("a", "b"), [Node("MUL", ("a", "a"), ("b",))], ("a",), ("b",))
    return build_file([model, first, second])


def looping(dtype: DType) -> bytes:
    """While n is below 5: x becomes x plus k, n one more."""

    def ends(*names: str) -> tuple[Tensor, ...]:
        return tuple(
            tensor(name, 6, dtype) if name in "xy" else Tensor(name, (1,), DType.INT32)
            for name in names
        )

    kept = np.arange(-3, 3).astype(dtype.numpy).reshape(1, 6)
    one, most = (
        Tensor(name, (1,), DType.INT32, None, np.array([value], np.int32))
        for name, value in (("one", 1), ("most", 5))
    )
    options = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    return build_file(
        [
            Subgraph(
                ends("x", "n", "y", "m"),
                [Node("WHILE", ("x", "n"), ("y", "m"), options)],
                ("x", "n"),
                ("y", "m"),
            ),
            Subgraph(
                (*ends("x", "n"), most, Tensor("b", (1,), DType.BOOL)),
                [Node("LESS", ("n", "most"), ("b",))],
                ("x", "n"),
                ("b",),
            ),
            Subgraph(
                (*ends("x", "n", "y", "m"), one, tensor("k", 6, dtype, kept)),
                [Node("ADD", ("x", "k"), ("y",)), Node("ADD", ("n", "one"), ("m",))],
                ("x", "n"),
                ("y", "m"),
            ),
        ]
    )


def drawn(random: np.random.Generator, one: Tensor) -> Array:
    if one.dtype is DType.BOOL:
        return random.integers(0, 2, one.shape).astype(np.bool_)
    if one.dtype is DType.FLOAT32:
        return random.normal(0, 1, one.shape).astype(np.float32)
    low, high = (-3, 8) if one.dtype is DType.INT32 else one.dtype.limits
    return random.integers(low, high, one.shape, endpoint=True).astype(one.dtype.numpy)


@pytest.mark.parametrize("oracle", ["litert", "tflm"])
@pytest.mark.parametrize("dtype", [DType.INT8, DType.FLOAT32], ids=str)
@pytest.mark.parametrize("make", [branching, looping])
def test_control_flow_equals_the_oracle(
    make: Callable[[DType], bytes], dtype: DType, oracle: str
) -> None:
    content = make(dtype)
    graph = FRONTEND.load(content, "m")
    random = np.random.default_rng(7)
    if oracle == "litert":
        kind = OpResolverType.BUILTIN_REF
        theirs: Any = Interpreter(model_content=content, experimental_op_resolver_type=kind)
        theirs.allocate_tensors()
    else:
        theirs = micro(content)
    for run in range(RUNS):
        inputs = {name: drawn(random, graph.tensors[name]) for name in graph.inputs}
        if oracle == "litert":
            for detail, array in zip(theirs.get_input_details(), inputs.values(), strict=True):
                theirs.set_tensor(detail["index"], array)
        else:
            for index, array in enumerate(inputs.values()):
                theirs.set_input(array, index)
        theirs.invoke()
        ours = evaluate(graph, inputs)
        for index, name in enumerate(graph.outputs):
            if oracle == "litert":
                found = theirs.get_tensor(theirs.get_output_details()[index]["index"])
            else:
                found = theirs.get_output(index)
            np.testing.assert_array_equal(ours[name], found, err_msg=f"run {run}")


@pytest.mark.parametrize(("slots", "options"), [(5, {}), (13, {}), (3, {"cycles_max": 1})])
def test_a_circular_buffer_equals_tflite_micro(slots: int, options: dict[str, int]) -> None:
    x = Tensor("x", (1, 1, 2, 3), DType.INT8, QUANTIZATION)
    y = Tensor("y", (1, slots, 2, 3), DType.INT8, QUANTIZATION)
    node = Node("CUSTOM:CIRCULAR_BUFFER", ("x",), ("y",), options)
    content = build([x, y], [node], ("x",), ("y",), ("y",))
    theirs, graph = micro(content), FRONTEND.load(content, "m")
    random, states = np.random.default_rng(3), dict(graph.states)
    for run in range(RUNS):
        sample = drawn(random, x)
        theirs.set_input(sample, 0)
        theirs.invoke()
        ours = evaluate(graph, {"x": sample}, states)
        states = {name: ours[name] for name in states}
        found = theirs.get_output(0)
        np.testing.assert_array_equal(ours["y"], found, err_msg=f"run {run}")
