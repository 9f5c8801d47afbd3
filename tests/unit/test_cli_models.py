"""Several models of one project, and libraries given in place of a model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from drawn_graphs import Sketch
from small_models import small_graph, write_model

import uhost
from uhost import driver
from uhost.cli import cli
from uhost.config.board import load_board
from uhost.config.pass_context import PassContext
from uhost.errors import ConfigError
from uhost.ops.relu import ReluAttributes
from uhost.resources import bundled_model

PROJECT = """\
models: {first: conv3.tflite, second: conv5.tflite}
board: stm32f746
"""


def invoke(*arguments: str | Path, code: int = 0) -> str:
    line = [str(one) for one in arguments]
    done = CliRunner().invoke(cli, line, catch_exceptions=False, standalone_mode=False)
    assert (done.return_value or 0) == code
    return done.stdout


def results(*arguments: str | Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(invoke(*arguments, "--json"))["results"]
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for channels in (3, 5):
        write_model(tmp_path, small_graph(channels))
    path = tmp_path / "uhost.yaml"
    path.write_text(PROJECT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "digits.tar"
    uhost.build(bundled_model(), "stm32f746").export_library(path)
    return path


@pytest.mark.parametrize("verb", ["run", "verify"])
def test_all_models_of_a_project_are_used(verb: str, project: Path) -> None:
    found = results(verb, "--project", project)
    assert [one["model"] for one in found] == ["first", "second"]
    [only] = results(verb, "--project", project, "--model", "second")
    assert only["model"] == "second"
    text = invoke(verb, "--project", project)
    assert text.count(" on stm32f746") == 2


def test_one_wrong_model_of_several_is_exit_code_1(project: Path) -> None:
    graph = small_graph(5)
    arrays: dict[str, Any] = {
        "s0_in_0": np.zeros(graph.tensors[graph.inputs[0]].shape, np.int8),
        "s0_out_0": np.full(graph.tensors[graph.outputs[0]].shape, 99, np.int8),
    }
    np.savez(project.parent / "wrong.npz", **arrays)
    project.write_text(PROJECT + "verify: {golden: {second: wrong.npz}}\n", encoding="utf-8")
    found = json.loads(invoke("verify", "--project", project, "--json", code=1))["results"]
    assert [one["matches"] for one in found] == [True, False]


def test_the_outputs_of_each_model_have_a_file(project: Path, tmp_path: Path) -> None:
    invoke("run", "--project", project, "--output", tmp_path / "out.npz")
    for name, channels in (("first", 3), ("second", 5)):
        with np.load(tmp_path / f"out-{name}.npz") as archive:
            assert archive["s0_out_0"].shape[-1] == channels
    assert not (tmp_path / "out.npz").exists()


def test_inspect_reads_the_project_file(project: Path) -> None:
    found = results("inspect", "--project", project)
    assert [one["model"] for one in found] == ["first", "second"]
    assert {one["board"] for one in found} == {"stm32f746"}
    project.write_text(PROJECT + "kernels: {first.conv_2d_0: reference}\n", encoding="utf-8")
    first, second = results("inspect", "--project", project)
    assert first["operators"][0]["kernel"].startswith("reference/")
    assert first["operators"][0]["forced"]
    assert second["operators"][0]["kernel"].startswith("dsp/")
    project.write_text(PROJECT.replace("board: stm32f746\n", ""), encoding="utf-8")
    assert "board" not in results("inspect", "--project", project)[0]
    [named] = results("inspect", bundled_model(), "--project", project, "--board", "host")
    assert (named["model"], named["board"]) == ("digits", "host")


def test_inspect_refuses_a_project_with_mistakes(project: Path) -> None:
    project.write_text("modles: a.tflite\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="unknown key 'modles'"):
        invoke("inspect", "--project", project)


@pytest.mark.parametrize("verb", ["run", "verify", "bench"])
def test_a_library_runs_in_place_of_a_model(verb: str, library: Path) -> None:
    [found] = results(verb, library)
    assert (found["model"], found["board"]) == ("digits", "stm32f746")
    assert found["exact"] in (True, None)
    assert found["instructions"] > 0


def test_a_library_can_be_inspected(library: Path, tmp_path: Path) -> None:
    [found] = results("inspect", library)
    [built] = results("inspect", bundled_model(), "--board", "stm32f746")
    assert found == built
    folder = tmp_path / "built"
    invoke("build", bundled_model(), "--board", "stm32f746", "--output", folder)
    assert results("inspect", folder) == [built]


def refusal(*arguments: str | Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        invoke(*arguments)
    return caught.value


def test_a_library_is_for_its_board_and_built_as_it_is(library: Path) -> None:
    error = refusal("run", library, "--board", "host")
    assert error.what == "the library is for the board 'stm32f746', not 'host'"
    assert error.where == str(library)
    assert error.fix == "leave out --board, or export a library for that board"
    error = refusal("verify", library, "--opt-level", "0")
    assert error.what == f"--opt-level says how to build, and '{library}' is built already"


def test_a_library_without_its_models_has_no_reference(tmp_path: Path) -> None:
    path = tmp_path / "bare.tar"
    config = driver.configure(load_board("stm32f746"))
    config = replace(config, executor=replace(config.executor, link_params=False))
    module = uhost.build(bundled_model(), "stm32f746", config=config)
    module["remove_params"]().export_library(path)
    error = refusal("verify", path)
    assert error.what == "the library holds no model file, of which a reference could be computed"
    assert error.fix == "export the module before remove_params, or run it with uhost.load_module"


def test_a_library_that_gives_another_program_is_refused(tmp_path: Path) -> None:
    """A library does not say how its passes worked; its program tells."""
    path = tmp_path / "other.tar"
    sketch = Sketch(1, (1, 4, 4, 3))
    sketch.convolution(2, (3, 3))
    sketch.add("relu", ReluAttributes())
    model = write_model(tmp_path, sketch.graph(), "other")
    context = PassContext(opt_level=0)
    uhost.build(model, "stm32f746", context=context).export_library(path)
    error = refusal("run", path)
    assert "the library does not match what uhost" in error.what
    assert error.fix == "export it again by this uhost, with the passes that run by default"
