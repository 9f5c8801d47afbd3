"""uint8 files: what is computed in int8 equals LiteRT's reference kernels for uint8.

The int8 examples of each operator, with every number 128 more, make the files.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from build_tflite import from_graph
from oracle_inputs import RUNS, draw_all

from uhost.frontends._frontend import load_model
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, Graph
from uhost.ir.tensor import Quantization, Tensor
from uhost.ops._op import OPERATORS, Example, evaluate
from uhost.ops.pad import PadAttributes

EXCLUDED = {
    ("softmax", "int8_flat_long"): "LiteRT ends the process",
    ("conv_2d", "no_bias"): "LiteRT has no convolution without a bias",
    ("quantize", "int8_to_int32"): "from uint8 there are int8 and uint8",
    ("quantize", "int32_to_int8"): "from uint8 there are int8 and uint8",
    ("div", "int8_every_near"): "shifts of more than 31 bits are undefined",
    ("div", "int8_zero"): "a division by 0 ends the run",
    **{
        (kind, "int8_scale_above_1"): "such a scale is taken for another"
        for kind in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    ("add", "int8_saturates"): "LiteRT refuses an output scale so small",
}


def as_uint8(tensor: Tensor) -> Tensor:
    """The tensor with every number 128 more, if it is int8."""
    if tensor.dtype is not DType.INT8:
        return tensor
    # Operators that move elements have examples without a scale, which would stay as they are.
    scale, zero_point = tensor.quantization.per_tensor if tensor.quantization else (0.05, 3)
    values = None if tensor.values is None else tensor.values.view(np.uint8) ^ np.uint8(128)
    return replace(
        tensor,
        dtype=DType.UINT8,
        quantization=Quantization((scale,), (zero_point + 128,)),
        values=values,
    )


def uint8_form(graph: Graph) -> Graph:
    operator = graph.operators[0]
    if isinstance(operator.attributes, PadAttributes):
        shifted = replace(operator.attributes, value=operator.attributes.value + 128)
        operator = replace(operator, attributes=shifted)
    if getattr(operator.attributes, "unsigned", False):
        signed: Any = operator.attributes
        operator = replace(operator, attributes=replace(signed, unsigned=False))
    tensors = {name: as_uint8(tensor) for name, tensor in graph.tensors.items()}
    return replace(graph, tensors=tensors, operators=(operator,))


def has_a_uint8_form(kind: str, example: Example) -> bool:
    bound: BoundOperator[Any] = next(iter(example.graph.bound_operators()))
    per_channel = any(
        len(tensor.quantization.scale) > 1
        for tensor in bound.inputs
        if tensor is not None and tensor.quantization is not None
    )
    data = {tensor.dtype for tensor in (*OPERATORS[kind].operands(bound), bound.outputs[0])}
    return (
        OPERATORS[kind].takes_uint8
        and DType.INT8 in data
        and data <= {DType.INT8, DType.BOOL, DType.INT32, DType.INT64}
        and not example.graph.states
        and not per_channel
        and (kind, example.name) not in EXCLUDED
    )


def examples() -> Iterator[Any]:
    for kind in OPERATORS.names():
        for example in OPERATORS[kind].examples():
            if has_a_uint8_form(kind, example):
                yield pytest.param(example.graph, id=f"{kind}-{example.name}")


@pytest.mark.parametrize("graph", list(examples()))
def test_uint8_equals_litert(graph: Graph, tmp_path: Path) -> None:
    content = from_graph(uint8_form(graph))
    (tmp_path / "uint8.tflite").write_bytes(content)
    loaded = load_model(tmp_path / "uint8.tflite")
    ends = {loaded.tensors[name].dtype for name in (*loaded.inputs, *loaded.outputs)}
    assert DType.UINT8 in ends
    assert DType.INT8 not in ends
    interpreter = Interpreter(
        model_content=content,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    random = np.random.default_rng(zlib.crc32(f"{graph.operators[0].kind} {graph.name}".encode()))
    for run in RUNS:
        inputs = draw_all(loaded, run, random)
        for detail, array in zip(interpreter.get_input_details(), inputs.values(), strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        ours = evaluate(loaded, inputs)
        for detail, name in zip(interpreter.get_output_details(), loaded.outputs, strict=True):
            theirs = interpreter.get_tensor(detail["index"])
            if graph.operators[0].kind == "fully_connected":
                # LiteRT 2.3 requantises it in double, TFLite up to 2.14 in fixed point.
                assert np.abs(ours[name].astype(int) - theirs).max() <= 1
            else:
                np.testing.assert_array_equal(ours[name], theirs, err_msg=run)
