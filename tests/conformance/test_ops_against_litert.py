"""The exact references against LiteRT's reference kernels, on every operator's examples."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from build_tflite import from_graph
from oracle_inputs import RUNS, draw_all
from oracle_limits import LITERT, limit

from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.ops._op import OPERATORS, Example, evaluate


def why_not(kind: str, example: Example) -> str:
    """Returns why LiteRT is no oracle for an example, or ""."""
    graph = example.graph
    dtypes = [graph.tensors[name].dtype for name in (*graph.inputs, *graph.outputs)]
    if kind == "fully_connected" and dtypes[0] in (DType.INT8, DType.INT16):
        # LiteRT 2.3 requantises it in double; TFLite Micro and TFLite up to 2.14 in fixed point.
        return "another arithmetic"
    if kind == "quantize" and dtypes == [DType.INT8, DType.INT32]:
        return "LiteRT has no int8 to int32"
    if kind.startswith(("signal_", "circular_")):
        return "LiteRT has no custom operators of TFLite Micro"
    if kind == "conv_2d" and len([name for name in graph.operators[0].inputs if name]) < 3:
        return "LiteRT has no convolution without a bias"
    if kind == "depthwise_conv_2d" and example.name == "hybrid_per_tensor":
        return "LiteRT reads past the one scale of the weights"
    if kind == "depthwise_conv_2d" and example.name == "int16_narrow":
        return "LiteRT and TFLite Micro read a 32-bit bias as 64-bit"
    if kind == "mul" and dtypes[0] is DType.INT16:
        return "LiteRT forms the factor in float32"
    if kind in ("relu", "relu6") and example.name in ("int8_double_factor", "int16_requantize"):
        return "LiteRT forms the factor in float32"
    if kind == "relu_n1_to_1" and dtypes[0] is DType.INT16:
        return "LiteRT has no int16 RELU_N1_TO_1"
    if DType.BOOL in dtypes and kind in ("pack", "split", "split_v"):
        return "LiteRT does not move booleans so"
    if limit(LITERT, kind, example):
        return limit(LITERT, kind, example)
    if graph.states:
        return "states are compared run by run"
    if "fatal_in_tflite" in example.tags:
        return "LiteRT ends the process"
    try:
        from_graph(graph)
    except ValueError as error:
        return str(error)
    return ""


def examples() -> Iterator[tuple[str, Example]]:
    for kind in OPERATORS.names():
        for example in OPERATORS[kind].examples():
            yield kind, example


COMPARED = [
    pytest.param(example.graph, id=f"{kind}-{example.name}")
    for kind, example in examples()
    if not why_not(kind, example)
]


def run_litert(interpreter: Interpreter, inputs: list[Array]) -> list[Array]:
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


@pytest.mark.parametrize("graph", COMPARED)
def test_reference_equals_litert(graph: Graph) -> None:
    interpreter = Interpreter(
        model_content=from_graph(graph),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    random = np.random.default_rng(zlib.crc32(f"{graph.operators[0].kind} {graph.name}".encode()))
    for run in RUNS:
        inputs = draw_all(graph, run, random)
        theirs = run_litert(interpreter, list(inputs.values()))
        ours = evaluate(graph, inputs)
        for name, expected in zip(graph.outputs, theirs, strict=True):
            assert ours[name].shape == expected.shape
            if graph.tensors[name].dtype is DType.FLOAT32:
                finite = np.abs(expected[np.isfinite(expected)])
                tolerance = 1e-6 + 1e-5 * float(finite.max(initial=0.0))
                np.testing.assert_allclose(ours[name], expected, rtol=0, atol=tolerance)
            else:
                np.testing.assert_array_equal(ours[name], expected, err_msg=run)


def test_exclusions_of_element_wise_operators() -> None:
    kinds = {"add", "softmax", "mean", "quantize", "dequantize", "relu", "relu6"}
    kinds |= {"reshape", "pad", "concatenation"}
    excluded = {
        f"{kind}-{example.name}": why_not(kind, example)
        for kind, example in examples()
        if kind in kinds and why_not(kind, example)
    }
    assert excluded == {
        "concatenation-uint8_channels": "concatenation is uint8 in its file",
        "concatenation-uint8_rows": "concatenation is uint8 in its file",
        "quantize-int8_to_int32": "LiteRT has no int8 to int32",
        "relu-int16_requantize": "LiteRT forms the factor in float32",
        "relu-int8_double_factor": "LiteRT forms the factor in float32",
        "relu6-int16_requantize": "LiteRT forms the factor in float32",
        "softmax-int8_flat_long": "LiteRT ends the process",
    }
