"""The TensorFlow Lite frontend: sound files that uhost cannot take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from build_tflite import Node, build
from raw_tflite import (
    CODE,
    TYPE,
    A,
    B,
    C,
    RawModel,
    RawOperator,
    RawTensor,
    constant,
    refused,
    with_tensor,
)

from uhost.errors import MalformedModelError, ModelError, UnsupportedOperatorError
from uhost.frontends import _import
from uhost.frontends._frontend import load_model
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.tensor import Tensor
from uhost.ops._op import OPERATORS, Imported, SourceNode


def test_other_schema_versions() -> None:
    assert refused(RawModel(version=2), ModelError) == (
        "the file has schema version 2; uhost reads 3\n  where: model 'm'\n"
        "  fix:   convert the model with a current TensorFlow Lite converter"
    )


def test_no_subgraph() -> None:
    assert refused(RawModel(subgraphs=0)) == (
        "the file has no subgraph\n  where: model 'm'\n  fix:   export the model again"
    )


def test_more_subgraphs_than_the_first_are_ignored() -> None:
    assert len(RawModel(subgraphs=3).load().operators) == 1


def test_dynamic_shapes() -> None:
    assert with_tensor(0, signature=(-1, 4)).load().tensors["a"].shape == (1, 4)
    open_batch = [replace(tensor, shape=(-1, 4)) for tensor in (A, B, C)]
    assert RawModel(open_batch).load().tensors["c"].shape == (1, 4)
    for changes in ({"signature": (1, -1)}, {"shape": (1, -1)}):
        assert refused(with_tensor(0, **changes), ModelError) == (
            "tensor 'a' has the dynamic shape [1x?]\n  where: model 'm'\n  fix:   memory is "
            "planned when the model is compiled: give a number for every N with --input-shape "
            "a=1,N, or export the model with fixed shapes"
        )
    # Inside the model an open dimension has the size that the operator makes.
    assert with_tensor(2, signature=(-1, -1)).load().tensors["c"].shape == (1, 4)
    assert with_tensor(2, shape=(1, 1), signature=(-1, -1)).load().tensors["c"].shape == (1, 4)
    message = refused(with_tensor(2, shape=(1, 1), signature=(-1, 3)), MalformedModelError)
    assert "'c' is declared int8[?x3], but ADD makes int8[1x4] of its inputs" in message


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (with_tensor(1, type=TYPE.FLOAT16), "input 1 has type float16"),
        (with_tensor(1, type=TYPE.STRING), "input 1 has type string"),
        (with_tensor(1, type=TYPE.COMPLEX64), "input 1 has type complex64"),
        (with_tensor(1, type=TYPE.INT4), "input 1 has type int4"),
        (with_tensor(2, type=TYPE.FLOAT64), "output 0 has type float64"),
        (constant(is_sparse=True), "input 1 is sparse"),
        (constant(is_variable=True), "input 1 is a variable with values of its own"),
        (with_tensor(1, details=1), "input 1 has a custom quantisation"),
        (with_tensor(1, shape=(0, 4)), "input 1 has no elements"),
        (replace(with_tensor(1, shape=(0, 4)), inputs=(0,)), "an input has no elements"),
    ],
)
def test_tensors_no_operator_takes(model: RawModel, reason: str) -> None:
    text = refused(model, UnsupportedOperatorError)
    assert text.startswith("uhost cannot compile 1 of 1 operators: 1 × ADD\n  ADD: " + reason)


def test_inputs_and_outputs_of_the_model_no_operator_reads() -> None:
    model = RawModel([A, B, C, RawTensor("s", (1,), TYPE.STRING)], inputs=(0, 1, 3))
    assert refused(model, ModelError) == (
        "tensor 's', an input or output of the model, has type string\n  where: model 'm'\n"
        "  fix:   convert the model with inputs and outputs of a supported type"
    )


def test_all_unsupported_operators_are_reported_at_once() -> None:
    long_name = "x" * 40 + "y" * 40
    codes = [
        (CODE.ADD, CODE.ADD, None),
        (CODE.CUSTOM, CODE.CUSTOM, "Signal\n"),
        (127, CODE.BITCAST, None),
        (127, 9999, None),
    ]
    model = RawModel(
        [
            *(A, B, C),
            RawTensor("d", (2, 3), TYPE.FLOAT16),
            RawTensor(long_name, None, TYPE.INT32),
            *(replace(C, name=name) for name in "efg"),
        ],
        [
            RawOperator(1, (), (3,), "", (), b"\1\2"),
            RawOperator(),
            RawOperator(2, (0,), (4, 5), ""),
            RawOperator(1, None, None, ""),
            RawOperator(3, (0,), (6,), "AddOptions"),
            RawOperator(0, (3, 0), (7,)),
        ],
        codes=codes,
    )
    assert refused(model, UnsupportedOperatorError) == (
        "uhost cannot compile 5 of 6 operators: 2 × CUSTOM:Signal\ufffd, 1 × BITCAST, "
        "1 × BUILTIN:9999, 1 × ADD\n"
        "  CUSTOM:Signal\ufffd: there is no such operator in uhost\n"
        "    operator 0 -> 'd' float16[2x3]\n"
        "    operator 3 -> nothing\n"
        "  BITCAST: there is no such operator in uhost\n"
        f"    operator 2 -> '{'x' * 30}…{'y' * 30}' int32[], 'e' int8[1x4]\n"
        "  BUILTIN:9999: there is no such operator in uhost\n"
        "    operator 4 -> 'f' int8[1x4]\n"
        "  ADD: input 0 has type float16\n"
        "    operator 5 -> 'g' int8[1x4]\n"
        "  where: model 'm'\n"
        "  fix:   `uhost ops` lists the operators, types and options that are supported"
    )


def test_custom_options_reach_the_importer_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def importer(node: SourceNode) -> Imported:
        seen.append((node.index, node.options))
        return Imported(OPERATORS["add"].attributes(), node.inputs)

    kind = replace(OPERATORS["add"], importers={"tflite": {"CUSTOM:MyAdd": importer}})
    monkeypatch.setattr(_import, "OPERATORS", [kind])
    codes = [(CODE.CUSTOM, CODE.CUSTOM, "MyAdd")]
    RawModel(operators=[RawOperator(options="", custom=b"\1\2")], codes=codes).load()
    RawModel(operators=[RawOperator(options="")], codes=codes).load()
    assert seen == [(0, b"\1\2"), (0, None)]


def test_unsupported_operators_are_all_named() -> None:
    a, b, c, d = (Tensor(name, (1, 4), DType.FLOAT32) for name in "abcd")
    nodes = [
        Node("TOPK_V2", ("a",), ("b",)),
        Node("CONV_3D", ("b",), ("c",)),
        Node("CUSTOM:ethos-u", ("c",), ("d",)),
        Node("TOPK_V2", ("d",), ("e",)),
    ]
    e = Tensor("e", (1, 4), DType.FLOAT32)
    with pytest.raises(UnsupportedOperatorError) as error:
        FRONTEND.load(build([a, b, c, d, e], nodes, ["a"], ["e"]), "m")
    assert error.value.what == (
        "uhost cannot compile 4 of 4 operators: 2 × TOPK_V2, 1 × CONV_3D, 1 × CUSTOM:ethos-u\n"
        "  TOPK_V2: there is no such operator in uhost\n"
        "    operator 0 -> 'b' float32[1x4]\n"
        "    operator 3 -> 'e' float32[1x4]\n"
        "  CONV_3D: uhost has no convolutions over volumes, and no interpreter for "
        "microcontrollers has\n"
        "    operator 1 -> 'c' float32[1x4]\n"
        "  CUSTOM:ethos-u: a program for an Arm Ethos-U, not the model it was made of: give uhost "
        "the file that Vela was given\n"
        "    operator 2 -> 'd' float32[1x4]"
    )


def test_float16_weights_become_float32(shared_models: Path) -> None:
    graph = load_model(shared_models / "mediapipe_face_f16w.tflite")
    assert "dequantize" not in {operator.kind for operator in graph.operators}
    weights = [graph.tensors[o.inputs[1]] for o in graph.operators if o.kind == "conv_2d"]
    assert len(weights) == 21
    for tensor in weights:
        values = tensor.constant()
        assert values.dtype == np.float32
        assert np.array_equal(values, values.astype(np.float16))
