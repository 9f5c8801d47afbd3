"""The exact references against TensorFlow Lite Micro, on every operator's examples.

Where the wheel is not published for a platform, these tests do not exist there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from build_tflite import from_graph
from interpreters import micro_runtime
from oracle_inputs import RUNS, draw_all
from oracle_limits import TFLM, limit

from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.ops._op import OPERATORS, Example, evaluate

runtime = micro_runtime()

ARENA_BYTES = 1 << 20


def why_not(kind: str, example: Example) -> str:
    """Returns why TFLite Micro is no oracle for an example, or ""."""
    if example.graph.states:
        return "states are compared run by run"
    try:
        from_graph(example.graph)
    except ValueError as error:
        return str(error)
    if "hybrid" in example.tags:
        return "hybrid layers are refused"
    return (
        limit(TFLM, kind, example)
        or DIFFERENCES.get((kind, example.name), "")
        or DIFFERENCES.get((kind, ""), "")
    )


DIFFERENCES: dict[tuple[str, str], str] = {
    ("add", "int32_relu6"): "the fused activation is dropped",
    ("add", "int64"): "refused at run time",
    ("depthwise_conv_2d", "int16_narrow"): "a 32-bit bias read as 64-bit",
    ("transpose_conv", "int16_narrow"): "a 32-bit bias read as 64-bit",
    ("pack", "uint8"): "no such type",
    ("pack", "bool"): "no such type",
    ("pad", "int64"): "refused at run time",
    ("quantize", "float32_to_uint8"): "refused at run time",
    ("relu6", "int8_requantize"): "integers are copied unscaled",
    ("relu6", "int8_requantize_wider"): "integers are copied unscaled",
    ("relu6", "int16_requantize"): "integers are copied unscaled",
    ("relu_n1_to_1", ""): "there is no such operator",
    ("shape", "int8_int64"): "no such type",
    ("signal_energy", "int16_band"): "nothing is written outside the band",
    ("softmax", "int8_flat_long"): "the sum of exponentials overflows",
    ("split", "uint8"): "no such type",
    ("split", "int64"): "no such type",
    ("split", "bool"): "no such type",
    ("split_v", "uint8"): "no such type",
    ("split_v", "int64"): "no such type",
    ("split_v", "bool"): "no such type",
    ("strided_slice", "uint8"): "no such type",
    ("strided_slice", "int64"): "no such type",
    ("strided_slice", "int8_ellipsis"): "new axes are ignored",
}
"""(operator, example) → why uhost does not follow TFLite Micro, or cannot ask it."""


def examples() -> Iterator[tuple[str, Example]]:
    for kind in OPERATORS.names():
        for example in OPERATORS[kind].examples():
            yield kind, example


COMPARED = [
    pytest.param(example.graph, id=f"{kind}-{example.name}")
    for kind, example in examples()
    if not why_not(kind, example)
]


ABSENT = ("no such type", "refused at run time", "there is no such operator")


@pytest.mark.parametrize(
    ("kind", "example"),
    [
        pytest.param(kind, example, id=f"{kind}-{example.name}")
        for kind, example in examples()
        if why_not(kind, example) in ABSENT
    ],
)
def test_what_tflite_micro_lacks_is_by_litert(kind: str, example: Example) -> None:
    bound = next(b for b in example.graph.bound_operators() if b.kind == kind)
    assert OPERATORS[kind].by_litert(bound), "say so in `by_litert`, which `uhost ops` shows"


def test_what_is_by_litert_is_not_compared_with_tflite_micro() -> None:
    for kind, example in examples():
        bound = next(b for b in example.graph.bound_operators() if b.kind == kind)
        assert not (OPERATORS[kind].by_litert(bound) and not why_not(kind, example)), example.name


def run_tflm(content: bytes, inputs: list[Array], count: int) -> list[Array]:
    interpreter = runtime.Interpreter.from_bytes(content, arena_size=ARENA_BYTES)
    for index, array in enumerate(inputs):
        interpreter.set_input(array, index)
    interpreter.invoke()
    return [interpreter.get_output(index) for index in range(count)]


@pytest.mark.parametrize("graph", COMPARED)
def test_reference_equals_tflite_micro(graph: Graph) -> None:
    content = from_graph(graph)
    random = np.random.default_rng(zlib.crc32(f"{graph.operators[0].kind} {graph.name}".encode()))
    for run in RUNS:
        inputs = draw_all(graph, run, random)
        theirs = run_tflm(content, list(inputs.values()), len(graph.outputs))
        ours = evaluate(graph, inputs)
        for name, expected in zip(graph.outputs, theirs, strict=True):
            ours_flat, theirs_flat = ours[name].reshape(-1), expected.reshape(-1)
            if graph.tensors[name].dtype is DType.FLOAT32:
                finite = np.abs(expected[np.isfinite(expected)])
                tolerance = 1e-6 + 1e-5 * float(finite.max(initial=0.0))
                np.testing.assert_allclose(ours_flat, theirs_flat, rtol=0, atol=tolerance)
            else:
                np.testing.assert_array_equal(ours_flat, theirs_flat, err_msg=run)
