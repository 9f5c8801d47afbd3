"""`--input-shape`: dimensions that a file leaves open are filled, and everything follows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from raw_tflite import CODE, RawBuffer, RawModel, RawOperator, RawTensor

from uhost import driver
from uhost.cli import cli
from uhost.errors import ConfigError, UhostError
from uhost.ops._op import evaluate
from uhost.runtime.device import device
from uhost.runtime.evaluation import measure
from uhost.runtime.library import ModelFile
from uhost.runtime.samples import Sample

A, B, C = RawModel().tensors
OPEN = (-1, -1, 4)


def open_model() -> RawModel:
    """Returns an addition whose tensors have rank 3 and two open dimensions."""
    return RawModel([replace(t, shape=(1, 1, 4), signature=OPEN) for t in (A, B, C)])


def write(path: Path, model: RawModel) -> Path:
    path.write_bytes(model.build())
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "sum.tflite", open_model())


SHAPES = {"a": (2, 3, 4), "b": (2, 3, 4)}


def test_shapes_go_through_the_graph(model: Path) -> None:
    [source] = driver.load(model, SHAPES)
    assert {t.shape for t in source.graph.tensors.values()} == {(2, 3, 4)}
    [again] = driver.load_files([ModelFile("sum", "sum.tflite", source.content)])
    assert again.graph.tensors["c"].shape == (2, 3, 4)


def test_a_key_may_name_the_model(model: Path) -> None:
    shapes = {"sum.a": (1, 2, 4), "b": (1, 2, 4)}
    assert driver.load(model, shapes)[0].graph.tensors["c"].shape == (1, 2, 4)
    assert driver.input_shapes_of(model, shapes) == {"sum": shapes}


def test_shapes_written_without_a_signature_are_filled(tmp_path: Path) -> None:
    tensors = [replace(t, shape=(-1, -1, 4)) for t in (A, B, C)]
    path = write(tmp_path / "old.tflite", RawModel(tensors))
    assert driver.load(path, SHAPES)[0].graph.tensors["c"].shape == (2, 3, 4)


@pytest.mark.needs("host_cc")
def test_the_model_runs_with_that_shape(model: Path) -> None:
    sources = driver.load(model, SHAPES)
    inputs = [np.arange(k, k + 24, dtype=np.int8).reshape(2, 3, 4) for k in (-7, 40)]
    right = evaluate(sources[0].graph, dict(zip("ab", inputs, strict=True)))["c"]
    built = driver.link(driver.compile_models(sources, "host"))
    sample = Sample(dict(enumerate(inputs)), {0: right})
    assert measure(built, device("host"), [sample]).exact


def test_a_shape_that_is_computed_follows(tmp_path: Path) -> None:
    """RESHAPE to what SHAPE gives of the input."""
    tensors = [
        RawTensor("x", (1, 2), signature=(-1, 2), scale=(0.5,), zero_point=(3,)),
        RawTensor("size", (2,), 2),
        RawTensor("y", (1, 2), signature=(-1, 2), scale=(0.5,), zero_point=(3,)),
    ]
    path = write(
        tmp_path / "same.tflite",
        RawModel(
            tensors,
            [
                RawOperator(0, (0,), (1,), "ShapeOptions", (("OutType", 2),)),
                RawOperator(1, (0, 1), (2,), "ReshapeOptions"),
            ],
            inputs=(0,),
            outputs=(2,),
            codes=((CODE.SHAPE, CODE.SHAPE, None), (CODE.RESHAPE, CODE.RESHAPE, None)),
        ),
    )
    assert [o.kind for o in driver.load(path)[0].graph.operators] == ["shape", "reshape"]
    graph = driver.load(path, {"x": (5, 2)})[0].graph
    assert graph.tensors["y"].shape == (5, 2)
    assert [o.kind for o in graph.operators] == ["reshape"]


def test_a_folded_constant_takes_the_shape_that_it_has() -> None:
    """The output of a DEQUANTIZE on a constant, whose shape the file leaves out."""
    tensors = [
        RawTensor("x", (1, 4), 0),
        RawTensor("w16", (1, 4), 1, buffer=1),
        RawTensor("w", (), 0),
        RawTensor("y", (1, 4), 0),
    ]
    graph = RawModel(
        tensors,
        [RawOperator(0, (1,), (2,), ""), RawOperator(1, (0, 2), (3,))],
        inputs=(0,),
        outputs=(3,),
        codes=((CODE.DEQUANTIZE, CODE.DEQUANTIZE, None), (CODE.ADD, CODE.ADD, None)),
        buffers=(RawBuffer(), RawBuffer(np.arange(4, dtype=np.float16).tobytes())),
    ).load()
    assert graph.tensors["w"].constant().tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"a": (2, 3, 5)}, "dimension 2 of the input 'a' is 4 in the model, not 5"),
        ({"a": (2, 3)}, "the input 'a' has 3 dimensions, [?x?x4]; 2 are given"),
        ({"d": (2, 3, 4)}, "there is no input 'd' to give a shape"),
        ({"other.a": (2, 3, 4)}, "there is no input 'other.a' to give a shape"),
        ({"a": (2, 3, 4)}, "tensor 'b' has the dynamic shape [?x?x4]"),
        ({"a": (2, 3, 4), "b": (3, 2, 4)}, "shapes [2, 3, 4] and [3, 2, 4] do not broadcast"),
        ({"a": (1 << 14, 1 << 14, 4), "b": (1, 1, 4)}, "the tensors between operators take"),
    ],
)
def test_mistakes_are_named(model: Path, shapes: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(UhostError) as caught:
        driver.load(model, shapes)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["a", "a=", "=1,2", "a=1,x", "a=0,4", "a=-1,4"])
def test_what_is_no_shape_is_refused(model: Path, text: str) -> None:
    done = CliRunner().invoke(cli, ["inspect", str(model), "--input-shape", text])
    assert isinstance(done.exception, ConfigError)
    assert f"'{text}' does not say which input has which shape" in str(done.exception)


def inspected(*arguments: str) -> list[list[int]]:
    done = CliRunner().invoke(cli, ["inspect", "--json", *arguments], catch_exceptions=False)
    return [one["outputs"][0]["shape"] for one in json.loads(done.stdout)["results"]]


def test_the_command_line_goes_before_the_project_file(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uhost.yaml").write_text(
        "models: {add: sum.tflite}\nboard: stm32f746\n"
        "input_shapes: {a: [1, 2, 4], add.b: [1, 2, 4]}\n"
    )
    assert inspected() == [[1, 2, 4]]
    typed = ("--input-shape", "a=1,3,4", "--input-shape", "b=1,3,4")
    assert inspected(*typed) == [[1, 3, 4]]
    assert inspected(str(model), "--board", "host", *typed) == [[1, 3, 4]]


@pytest.mark.needs("host_cc")
def test_models_compiled_one_by_one_have_their_own_shapes(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.tflite", open_model()) for name in ("one", "two")]
    shapes = [f"--input-shape={m}.{i}=1,{k},4" for k, m in ((2, "one"), (3, "two")) for i in "ab"]
    arguments = ["bench", "--board", "host", "--json", *map(str, paths), *shapes]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    arenas = [one["arena_bytes"] for one in json.loads(done.stdout)["results"]]
    assert arenas[0] < arenas[1]


def test_a_public_model_takes_a_batch(shared_models: Path) -> None:
    for name in ("mlperf_kws_int8", "litert_fc_uint8io", "tinymaix_mbnet96_int8"):
        path = shared_models / f"{name}.tflite"
        [plain] = driver.load(path)
        given, shape = plain.graph.inputs[0], plain.graph.tensors[plain.graph.inputs[0]].shape
        [source] = driver.load(path, {given: (3, *shape[1:])})
        graph = source.graph
        inputs = np.random.default_rng(7).integers(0, 100, (3, *shape[1:]))
        dtype = graph.tensors[given].dtype.numpy
        whole = evaluate(graph, {given: inputs.astype(dtype)})[graph.outputs[0]]
        for number in range(3):
            one = evaluate(plain.graph, {given: inputs[number : number + 1].astype(dtype)})
            assert np.array_equal(whole[number], one[plain.graph.outputs[0]][0])
