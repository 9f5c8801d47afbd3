"""The TensorFlow Lite frontend: files that are damaged or contradict themselves."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import flatbuffers
import pytest
import tflite
from raw_tflite import (
    DAMAGED,
    INCONSISTENT,
    TYPE,
    A,
    B,
    C,
    RawBuffer,
    RawModel,
    RawOperator,
    constant,
    refused,
    with_operator,
    with_tensor,
)

from uhost.errors import InternalError, MalformedModelError
from uhost.frontends import _import
from uhost.frontends.tflite import FRONTEND
from uhost.ops._op import OPERATORS, Imported, SourceNode
from uhost.resources import bundled_model


@pytest.mark.parametrize(
    ("model", "what", "where"),
    [
        (with_tensor(1, type=77), "tensor 'b' has the unknown element type 77", "tensor 1"),
        (
            with_tensor(1, shape=(2**16, 2**16)),
            "tensor 'b' takes 4294967296 bytes, int8[65536, 65536]",
            "tensor 1",
        ),
        (
            constant(data=bytes(5)),
            "tensor 'b' is int8[1, 4] of 4 bytes, its buffer holds 5",
            "tensor 1",
        ),
        (
            constant(type=TYPE.BOOL, data=b"\0\1\2\0"),
            "tensor 'b' is boolean and holds other values than 0 and 1",
            "tensor 1",
        ),
        (with_tensor(1, shape=(1,) * 9), "tensor 'b' has 9 dimensions, more than 8", "tensor 1"),
        (
            with_tensor(1, signature=(-1, 2, 2)),
            "tensor 'b' has 2 dimensions, its shape signature 3",
            "tensor 1",
        ),
        (with_tensor(1, shape=(1, -2)), "tensor 'b' has the shape [1, -2]", "tensor 1"),
        (
            with_tensor(1, scale=(1.0,), zero_point=(1, 2)),
            "tensor 'b' has 1 scales and 2 zero points",
            "tensor 1",
        ),
        (
            with_tensor(1, scale=(0.0,)),
            "tensor 'b' has a scale that is not a positive number",
            "tensor 1",
        ),
        (
            with_tensor(1, scale=(float("nan"),)),
            "tensor 'b' has a scale that is not a positive number",
            "tensor 1",
        ),
        (with_tensor(1, zero_point=(128,)), "tensor 'b' has a zero point outside int8", "tensor 1"),
        (
            with_tensor(1, scale=(1.0,) * 4, zero_point=(0,) * 4),
            "tensor 'b' has 4 scales along axis 0 of the shape [1, 4]",
            "tensor 1",
        ),
        (
            with_tensor(1, scale=(1.0,) * 4, zero_point=(0,) * 4, axis=2),
            "tensor 'b' has 4 scales along axis 2 of the shape [1, 4]",
            "tensor 1",
        ),
        (with_tensor(1, buffer=1), "buffer 1 of 1 is named", "tensor 1"),
        (with_operator(code=1), "operator code 1 of 1 is named", "operator 0"),
        (with_operator(inputs=(0, 3)), "tensor 3 of 3 is named", "operator 0 (ADD)"),
        (with_operator(inputs=(0, -2)), "tensor -2 of 3 is named", "operator 0 (ADD)"),
        (with_operator(outputs=(-1,)), "tensor -1 of 3 is named", "operator 0 (ADD)"),
        (RawModel(inputs=(0, 9)), "tensor 9 of 3 is named", "inputs"),
        (RawModel(outputs=(-1,)), "tensor -1 of 3 is named", "outputs"),
    ],
)
def test_corrupt_files(model: RawModel, what: str, where: str) -> None:
    assert refused(model) == (
        f"the file is corrupt: {what}\n  where: model 'm', subgraph 0, {where}\n  fix:   {DAMAGED}"
    )


@pytest.mark.parametrize(
    ("model", "what", "where"),
    [
        (replace(constant(), inputs=(0, 1)), "the model input 'b' is a constant", ""),
        (RawModel(inputs=(0, 0)), "the model input 'a' is listed twice", ""),
        (
            RawModel(inputs=(0,)),
            "tensor 'b' is read before anything writes it",
            ", subgraph 0, operator 0 (ADD)",
        ),
        (
            with_operator(inputs=(0, 2)),
            "tensor 'c' is read before anything writes it",
            ", subgraph 0, operator 0 (ADD)",
        ),
        (
            RawModel([A, B, replace(C, buffer=1)], buffers=[RawBuffer(), RawBuffer(bytes(4))]),
            "the constant 'c' is written",
            ", subgraph 0, operator 0 (ADD)",
        ),
        (
            with_operator(outputs=(1,)),
            "tensor 'b' is written twice",
            ", subgraph 0, operator 0 (ADD)",
        ),
        (
            RawModel(operators=[RawOperator(), RawOperator()]),
            "tensor 'c' is written twice",
            ", subgraph 0, operator 1 (ADD)",
        ),
        (RawModel(operators=()), "the model computes nothing", ""),
        (RawModel(outputs=()), "the model computes nothing", ""),
        (
            RawModel([A, B, C, C], outputs=(3,)),
            "nothing writes the model output 'c_3'",
            "",
        ),
        (
            RawModel(
                [A, B, C, *(replace(A, name=n, shape=(2**15, 2**15)) for n in "xyz")],
                outputs=(2, 3, 4, 5),
                inputs=(0, 1, 3, 4, 5),
            ),
            "the tensors between operators take 3221225484 bytes",
            "",
        ),
        (
            with_tensor(2, shape=(1, 5)),
            "tensor 'c' is declared int8[1x5], but ADD makes int8[1x4] of its inputs",
            ", subgraph 0, operator 0 (ADD)",
        ),
    ],
)
def test_files_that_contradict_themselves(model: RawModel, what: str, where: str) -> None:
    assert refused(model) == f"{what}\n  where: model 'm'{where}\n  fix:   {INCONSISTENT}"


def test_nodes_with_the_options_or_inputs_of_another() -> None:
    # Which words an importer chooses is its own part; the place is the frontend's.
    for changes in (
        {"options": "Conv2DOptions"},
        {"inputs": (0,)},
        {"inputs": (0, -1)},
        {"inputs": None},
        {"outputs": None},
        {"outputs": ()},
    ):
        model = replace(with_operator(**changes), outputs=(0,))
        with pytest.raises(MalformedModelError) as error:
            model.load()
        assert error.value.where == "model 'm', subgraph 0, operator 0 (ADD)"


def unpack_three(shape: tuple[int, ...]) -> int:
    _, height, width = shape
    return height * width


@pytest.mark.parametrize(
    "stumble",
    [
        lambda node: node.inputs[5],
        lambda node: node.options.NoSuchOption(),
        lambda node: node.inputs[1].shape,
        lambda node: {}[node.options.FusedActivationFunction()],
        lambda node: 1 // node.options.FusedActivationFunction(),
        lambda node: node.inputs[0].scale,
        lambda node: unpack_three(node.inputs[0].shape),
    ],
)
def test_what_importers_stumble_over(
    monkeypatch: pytest.MonkeyPatch, stumble: Callable[[SourceNode], Any]
) -> None:
    def importer(node: SourceNode) -> Imported:
        stumble(node)
        raise AssertionError

    kind = replace(OPERATORS["add"], importers={"tflite": {"ADD": importer}})
    monkeypatch.setattr(_import, "OPERATORS", [kind])
    tensors = [replace(A, scale=()), B, C]
    model = RawModel(tensors, [RawOperator(inputs=(0, -1))])
    assert re.fullmatch(
        r"(ADD has inputs or options that contradict each other \(.*\)|"
        r"tensor 'a' is not quantised)"
        r"\n  where: model 'm', subgraph 0, operator 0 \(ADD\)\n  fix:   "
        + re.escape(INCONSISTENT),
        refused(model),
    )


def test_a_bug_of_an_importer_is_not_blamed_on_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def importer(node: SourceNode) -> Imported:
        return node.no_such_attribute  # type: ignore[attr-defined, no-any-return]

    kind = replace(OPERATORS["add"], importers={"tflite": {"ADD": importer}})
    monkeypatch.setattr(_import, "OPERATORS", [kind])
    with pytest.raises(AttributeError, match="no_such_attribute"):
        RawModel().load()


def test_two_operators_for_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = replace(OPERATORS["add"], name="twin")
    monkeypatch.setattr(_import, "OPERATORS", [OPERATORS["add"], twin])
    with pytest.raises(InternalError) as error:
        RawModel().load()
    assert str(error.value) == (
        "the operators 'add' and 'twin' both import ADD\n  where: format tflite"
    )


def test_wrong_number_of_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = OPERATORS["add"]
    twice = replace(
        kind,
        infer=lambda bound: [*kind.infer(replace(bound, outputs=bound.outputs[:1]))] * 2,
    )
    monkeypatch.setattr(_import, "OPERATORS", [twice])
    assert refused(RawModel()) == (
        "ADD has 1 outputs, not 2\n  where: model 'm', subgraph 0, operator 0 (ADD)\n"
        f"  fix:   {INCONSISTENT}"
    )


def test_truncated_files() -> None:
    content = RawModel().build()
    kinds = set()
    for length in range(8, len(content)):
        try:
            FRONTEND.load(content[:length], "m")
        except MalformedModelError as error:
            kinds.add(error.what.partition(":")[0])
    assert kinds == {"the file is truncated or corrupt"}


def test_truncated_bundled_model() -> None:
    # The damage that happens: an interrupted download.
    content = bundled_model().read_bytes()
    for length in range(0, len(content) - 16, 509):
        cut = content[:length]
        if FRONTEND.recognizes(cut):
            with pytest.raises(MalformedModelError, match="the file is truncated or corrupt"):
                FRONTEND.load(cut, "m")


def test_offsets_out_of_the_file() -> None:
    content = bytearray(RawModel().build())
    content[0:4] = struct.pack("<I", 2**31)
    with pytest.raises(MalformedModelError) as error:
        FRONTEND.load(bytes(content), "m")
    assert str(error.value) == (
        "the file is truncated or corrupt: it refers to 4 bytes at offset 2147483648, but ends "
        f"at {len(content)}\n  where: model 'm'\n  fix:   {DAMAGED}"
    )


def bare_file(fb: flatbuffers.Builder, field: str, vector: int) -> bytes:
    """Returns a file of one subgraph that has nothing but `vector` in `field`."""
    tflite.SubGraphStart(fb)
    getattr(tflite, f"SubGraphAdd{field}")(fb, vector)
    subgraph = tflite.SubGraphEnd(fb)
    fb.StartVector(4, 1, 4)
    fb.PrependUOffsetTRelative(subgraph)
    subgraphs = fb.EndVector()
    tflite.ModelStart(fb)
    tflite.ModelAddVersion(fb, 3)
    tflite.ModelAddSubgraphs(fb, subgraphs)
    fb.Finish(tflite.ModelEnd(fb), file_identifier=b"TFL3")
    return bytes(fb.Output())


def test_a_string_that_every_tensor_names_is_not_copied_for_each() -> None:
    fb = flatbuffers.Builder(256)
    shared = fb.CreateString("x" * 50_000)
    tensors = []
    for _ in range(200):
        tflite.TensorStart(fb)
        tflite.TensorAddName(fb, shared)
        tensors.append(tflite.TensorEnd(fb))
    fb.StartVector(4, len(tensors), 4)
    for tensor in tensors:
        fb.PrependUOffsetTRelative(tensor)
    with pytest.raises(MalformedModelError) as error:
        FRONTEND.load(bare_file(fb, "Tensors", fb.EndVector()), "m")
    assert re.fullmatch(
        r"the file is corrupt: its vectors overlap\n"
        r"  where: model 'm', subgraph 0, tensor \d\n  fix:   " + DAMAGED,
        str(error.value),
    )


@pytest.mark.parametrize("field", ["Tensors", "Operators"])
def test_absurd_counts(field: str) -> None:
    fb = flatbuffers.Builder(256)
    count = 2**16 + 1
    fb.StartVector(4, count, 4)
    fb.head -= 4 * count
    with pytest.raises(MalformedModelError) as error:
        FRONTEND.load(bare_file(fb, field, fb.EndVector()), "m")
    assert str(error.value) == (
        f"the file is corrupt: 65537 {field.lower()}, more than 65536\n"
        f"  where: model 'm', subgraph 0\n  fix:   {DAMAGED}"
    )
