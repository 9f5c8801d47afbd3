"""The TensorFlow Lite frontend: the graphs it builds."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from build_tflite import OPTION_TABLES, from_graph
from raw_tflite import (
    CODE,
    DAMAGED,
    TYPE,
    A,
    B,
    C,
    RawBuffer,
    RawModel,
    RawOperator,
    RawTensor,
    constant,
    with_tensor,
)

from uhost.errors import MalformedModelError, UnsupportedOperatorError
from uhost.frontends import _import
from uhost.frontends._frontend import FRONTENDS, load_model
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.tensor import Quantization
from uhost.ops._op import OPERATORS, Imported, SourceNode
from uhost.resources import bundled_model

BUILDABLE = {*OPTION_TABLES, "RELU", "RELU6"}


def test_graph_of_the_default_model() -> None:
    graph = RawModel().load()
    assert (graph.name, graph.inputs, graph.outputs) == ("m", ("a", "b"), ("c",))
    (operator,) = graph.operators
    assert (operator.name, operator.kind) == ("add_0", "add")
    assert (operator.inputs, operator.outputs) == (("a", "b"), ("c",))
    tensor = graph.tensors["a"]
    assert (tensor.shape, tensor.dtype, tensor.values) == ((1, 4), DType.INT8, None)
    assert tensor.quantization == Quantization((0.5,), (3,))


def test_recognizes_the_identifier_and_reads_no_further() -> None:
    assert FRONTEND.name == "tflite"
    assert FRONTEND.recognizes(RawModel().build())
    assert FRONTEND.recognizes(b"\xff\xff\xff\xffTFL3")
    assert not FRONTEND.recognizes(b"TFL3")
    assert not FRONTEND.recognizes(b"")
    assert FRONTENDS["tflite"] is FRONTEND


def test_scales_are_the_files_float32_exactly() -> None:
    scale = 0.1  # has no float32
    tensor = with_tensor(0, scale=(scale,)).load().tensors["a"]
    assert tensor.quantization is not None
    assert tensor.quantization.scale == (float(np.float32(scale)),)
    assert type(tensor.quantization.scale[0]) is float
    assert type(tensor.quantization.zero_point[0]) is int


def test_absent_zero_points_are_zero() -> None:
    assert with_tensor(0, zero_point=()).load().tensors["a"].zero_point == 0


def test_float_tensors_have_no_quantization() -> None:
    model = RawModel([replace(tensor, type=TYPE.FLOAT32) for tensor in (A, B, C)])
    assert all(tensor.quantization is None for tensor in model.load().tensors.values())


def test_names_are_made_unique_and_non_empty() -> None:
    def names(*given: str | bytes | None) -> tuple[str, ...]:
        model = RawModel([replace(t, name=n) for t, n in zip((A, B, C), given, strict=True)])
        graph = model.load()
        return (*graph.inputs, *graph.outputs)

    assert names("x:0", "x/y;z", "é") == ("x:0", "x/y;z", "é")
    assert names(None, "", "t") == ("tensor_0", "tensor_1", "t")
    assert names("x", "x", "x") == ("x", "x_1", "x_2")
    assert names("x_1", "x", "x") == ("x_1", "x", "x_2")
    assert names("x_2", "x", "x") == ("x_2", "x", "x_3")
    assert names(b"\xffa", b"b\n#\x1b[2J", b"c") == ("\ufffda", "b\ufffd#\ufffd[2J", "c")


@pytest.mark.parametrize(
    ("code", "dtype", "data"),
    [
        (TYPE.INT8, "i1", [-128, 1, 2, 127]),
        (TYPE.FLOAT32, "<f4", [0.1, -1e30, 0.0, 3.5]),
    ],
)
def test_constants_are_read_only_arrays_of_the_file(
    code: int, dtype: str, data: list[float]
) -> None:
    values = np.array(data, dtype)
    model = constant(data=values.tobytes())
    tensors = [replace(tensor, type=code) for tensor in model.tensors]
    tensor = replace(model, tensors=tensors).load().tensors["b"]
    assert tensor.values is not None
    assert tensor.values.dtype == values.dtype.newbyteorder("=")
    assert np.array_equal(tensor.values, values.reshape(1, 4))
    assert not tensor.values.flags.writeable


def test_constants_behind_the_flatbuffer() -> None:
    model = constant()
    content = replace(model, buffers=[RawBuffer(), RawBuffer(offset=10**6, size=4)]).build()
    length = len(content)
    content = replace(model, buffers=[RawBuffer(), RawBuffer(offset=length, size=4)]).build()
    assert len(content) == length
    graph = FRONTEND.load(content + b"\1\2\3\4", "m")
    assert graph.tensors["b"].constant().tolist() == [[1, 2, 3, 4]]
    with pytest.raises(MalformedModelError) as error:
        FRONTEND.load(content + b"\1\2\3", "m")
    assert str(error.value) == (
        f"the file is truncated or corrupt: it refers to 4 bytes at offset {length}, "
        f"but ends at {length + 3}\n  where: buffer 1\n  fix:   {DAMAGED}"
    )


def test_folded_and_unused_constants_and_unused_tensors_are_dropped() -> None:
    shape = RawTensor("shape", (2,), TYPE.INT32, buffer=1)
    unused = RawTensor("unused", (2,), TYPE.INT32, buffer=1)
    strange = RawTensor("strange", (2,), TYPE.STRING)
    out = replace(A, name="out", shape=(2, 2))
    graph = RawModel(
        [A, shape, out, unused, strange],
        [RawOperator(0, (0, 1), (2,), "ReshapeOptions")],
        (0,),
        (2,),
        [(CODE.RESHAPE, CODE.RESHAPE, None)],
        [RawBuffer(), RawBuffer(struct.pack("<2i", 2, 2))],
    ).load()
    assert list(graph.tensors) == ["a", "out"]
    assert graph.operators[0].inputs == ("a",)


def test_shape_without_elements_is_a_constant_of_a_scalar() -> None:
    a = replace(A, shape=(1, 1))
    out = replace(A, name="out", shape=())
    graph = RawModel(
        [a, RawTensor("shape", (0,), TYPE.INT32), out],
        [RawOperator(0, (0, 1), (2,), "ReshapeOptions")],
        (0,),
        (2,),
        [(CODE.RESHAPE, CODE.RESHAPE, None)],
    ).load()
    assert graph.tensors["out"].shape == ()


def test_old_files_have_only_the_deprecated_operator_code() -> None:
    model = RawModel(codes=[(CODE.RNN, CODE.ADD, None)])
    with pytest.raises(UnsupportedOperatorError, match="RNN"):
        model.load()  # the larger code counts: RNN is 35, ADD 0
    assert RawModel(codes=[(CODE.ADD, 0, None)]).load().operators[0].kind == "add"


def test_axis_of_a_vector_is_its_only_one() -> None:
    # As in tflm_person_detect_int8: axis 3 on one-dimensional biases.
    tensors = [
        replace(RawTensor(), name="x", shape=(1, 2, 2, 1), scale=(1.0,)),
        RawTensor("w", (2, 1, 1, 1), buffer=1, scale=(0.5, 0.25)),
        RawTensor("bias", (2,), TYPE.INT32, 2, scale=(0.5, 0.25), axis=3),
        replace(RawTensor(), name="y", shape=(1, 2, 2, 2), scale=(1.0,)),
    ]
    graph = _convolution(tensors).load()
    assert graph.tensors["bias"].quantization == Quantization((0.5, 0.25), (0, 0), 0)
    assert graph.tensors["w"].quantization == Quantization((0.5, 0.25), (0, 0), 0)
    assert graph.operators[0].inputs == ("x", "w", "bias")


def _convolution(tensors: Sequence[RawTensor], inputs: tuple[int, ...] = (0, 1, 2)) -> RawModel:
    return RawModel(
        tensors,
        [RawOperator(0, inputs, (3,), "Conv2DOptions", (("StrideH", 1), ("StrideW", 1)))],
        (0,),
        (3,),
        [(CODE.CONV_2D, CODE.CONV_2D, None)],
        [RawBuffer(), RawBuffer(b"\1\2"), RawBuffer(bytes(8))],
    )


def test_an_importers_own_constants_get_names_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def doubling(node: SourceNode) -> Imported:
        first, second = node.inputs
        assert first is not None
        assert second is not None
        doubled = replace(second, values=second.constant() * np.int8(2))
        return Imported(imported_attributes, (first, doubled))

    imported_attributes = OPERATORS["add"].attributes()
    kind = replace(OPERATORS["add"], importers={"tflite": {"ADD": doubling}})
    monkeypatch.setattr(_import, "OPERATORS", [kind])
    d = replace(C, name="d")
    model = replace(constant(data=b"\1\2\3\4"), outputs=(2, 3))
    graph = replace(
        model,
        tensors=[*model.tensors, d],
        operators=[RawOperator(), RawOperator(outputs=(3,))],
    ).load()
    second_inputs = [operator.inputs[1] for operator in graph.operators]
    assert len(set(second_inputs)) == 2
    for name in second_inputs:
        assert name.startswith("b")
        assert graph.tensors[name].constant().tolist() == [[2, 4, 6, 8]]
        assert graph.tensors[name].name == name


@pytest.mark.parametrize("kind", [name for name in OPERATORS.names() if name.upper() in BUILDABLE])
def test_operators_come_back_as_they_were_written(kind: str) -> None:
    for example in OPERATORS[kind].examples():
        (written,) = example.graph.operators
        if getattr(written.attributes, "unsigned", False):
            continue  # uint8 in its file: test_uint8_against_litert
        graph = FRONTEND.load(from_graph(example.graph), "again")
        (read,) = graph.operators
        assert replace(read, name=written.name) == written, example.name
        assert (graph.inputs, graph.outputs) == (example.graph.inputs, example.graph.outputs)
        for name in filter(None, (*written.inputs, *written.outputs)):
            before, after = example.graph.tensors[name], graph.tensors[name]
            assert (after.shape, after.dtype) == (before.shape, before.dtype)
            if before.quantization is not None:
                scales = tuple(float(np.float32(scale)) for scale in before.quantization.scale)
                assert after.quantization == replace(before.quantization, scale=scales)
            if before.values is not None:
                assert np.array_equal(after.constant(), before.values)


def in_index(shared_models: Path, file: str) -> dict[str, Any]:
    """Returns what the index of the shared models says of `file`."""
    index = yaml.safe_load((shared_models / "index.yaml").read_text())
    (entry,) = (model for model in index["models"] if model["file"] == file)
    return dict(entry)


def test_bundled_model() -> None:
    graph = load_model(bundled_model())
    graph.verify()
    kinds = {operator.kind for operator in graph.operators}
    assert {"conv_2d", "depthwise_conv_2d", "fully_connected"} <= kinds
    assert len(graph.inputs) == len(graph.outputs) == 1


@pytest.mark.parametrize("task", ["kws", "vww", "ic", "ad"])
def test_mlperf_tiny_models(shared_models: Path, task: str) -> None:
    file = f"mlperf_{task}_int8.tflite"
    expected = in_index(shared_models, file)
    graph = load_model(shared_models / file)
    counts = Counter(operator.kind.upper() for operator in graph.operators)
    assert dict(counts) == expected["ops"]
    assert [operator.name for operator in graph.operators] == [
        f"{operator.kind}_{index}" for index, operator in enumerate(graph.operators)
    ]
    for names, facts in (graph.inputs, expected["inputs"]), (graph.outputs, expected["outputs"]):
        assert len(names) == len(facts)
        for name, fact in zip(names, facts, strict=True):
            tensor = graph.tensors[name]
            assert (tensor.name, list(tensor.shape)) == (fact["name"], fact["shape"])
            assert str(tensor.dtype) == fact["dtype"]
            assert (tensor.scale, tensor.zero_point) == (fact["scale"], fact["zero_point"])
    macs = sum(OPERATORS[bound.kind].macs(bound) for bound in graph.bound_operators())
    assert macs == expected["macs"]


def test_files_without_constants_may_lack_buffers() -> None:
    assert RawModel(buffers=()).load().operators[0].kind == "add"


def test_int4_weights_are_unpacked() -> None:
    tensors = [
        replace(RawTensor(), name="x", shape=(1, 2, 2, 1), scale=(1.0,)),
        RawTensor("w", (3, 1, 1, 1), TYPE.INT4, buffer=1, scale=(0.5,)),
        RawTensor("bias", (3,), TYPE.INT32, 2, scale=(0.5,)),
        replace(RawTensor(), name="y", shape=(1, 2, 2, 3), scale=(1.0,)),
    ]
    model = replace(
        _convolution(tensors), buffers=[RawBuffer(), RawBuffer(b"\x87\x0f"), RawBuffer(bytes(12))]
    )
    weights = model.load().tensors["w"]
    assert weights.dtype is DType.INT8
    assert weights.constant().reshape(-1).tolist() == [7, -8, -1]
    with pytest.raises(MalformedModelError, match="its buffer holds 1"):
        replace(model, buffers=[RawBuffer(), RawBuffer(b"\x87"), model.buffers[2]]).load()
