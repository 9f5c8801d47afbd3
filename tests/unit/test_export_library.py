"""Modules in the Model Library Format: its layout, the way back, and what is refused."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_models import (
    TWO_MODELS,
    check_two_models,
    expected_output,
    small_sample,
    write_two_models,
)

import uhost
from uhost import driver, resources
from uhost.config.board import load_board
from uhost.config.compilation import CompilationConfig
from uhost.errors import ConfigError
from uhost.runtime.device import Device
from uhost.runtime.export.parameters import decode_params
from uhost.runtime.module import Module

BOARD = "mps2_an500"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_two_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def module(models: dict[str, Path]) -> Module:
    return uhost.build(models, board=BOARD)


@pytest.fixture(scope="module")
def archive(module: Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "both.tar"
    assert module.export_library(path) == (path,)
    return path


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {m.name: stream.read() for m in tar if m.isfile() and (stream := tar.extractfile(m))}


def test_the_layout_is_that_of_the_model_library_format(archive: Path) -> None:
    files = members(archive)
    assert list(files) == sorted(files)
    assert {name for name in files if "runtime/" not in name} == {
        "./metadata.json",
        "./codegen/host/src/model.c",
        "./codegen/host/include/model.h",
        "./codegen/native/src/model.c",
        "./codegen/native/include/model.h",
        "./parameters/one.params",
        "./parameters/two.params",
        "./src/one.graph",
        "./src/two.graph",
        "./src/one.tflite",
        "./src/two.tflite",
        "./executor-config/aot/config.json",
    }
    assert "./runtime/firmware/rpc/server.c" in files
    assert b"graph one {" in files["./src/one.graph"]
    assert CompilationConfig.from_json(files["./executor-config/aot/config.json"])
    with tarfile.open(archive) as tar:
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in tar} == {(0, 0, 0, "", "")}


def test_metadata_has_the_fields_of_version_7(archive: Path) -> None:
    metadata = json.loads(members(archive)["./metadata.json"])
    assert metadata["version"] == 7
    assert list(metadata["modules"]) == ["one", "two"]
    one = metadata["modules"]["one"]
    assert set(one) == {
        *("model_name", "export_datetime", "memory", "target", "executors", "style"),
        "external_dependencies",
    }
    assert one["model_name"] == "one"
    assert one["export_datetime"] == "1970-01-01 00:00:00Z"
    assert one["executors"] == ["aot"]
    assert one["style"] == "full-model"
    functions = one["memory"]["functions"]
    assert functions["operator_functions"] == [
        {"function_name": "conv_2d_0", "workspace": [{"device": 1, "workspace_size_bytes": 0}]}
    ]
    (main,) = functions["main"]
    assert set(main) == {
        *("device", "workspace_size_bytes", "constants_size_bytes", "io_size_bytes"),
        *("inputs", "outputs"),
    }
    assert main["inputs"] == {"input": {"dtype": "int8", "size": 48}}
    assert main["outputs"] == {"output": {"dtype": "int8", "size": 80}}
    assert main["io_size_bytes"] == 128
    assert main["workspace_size_bytes"] == metadata["uhost"]["program"]["models"][0]["arena_bytes"]


def test_metadata_says_what_tvm_has_no_place_for(archive: Path) -> None:
    section = json.loads(members(archive)["./metadata.json"])["uhost"]
    assert section["uhost"] == uhost.__version__
    assert section["licence"] == {"model": "0BSD", "runtime": "Apache-2.0"}
    assert section["config"]["numerics"] == "tflm"
    assert section["program"]["board"] == BOARD
    assert section["native"]["board"] == "host"
    assert section["program"]["digest"] != section["native"]["digest"]
    (tensor,) = section["program"]["models"][0]["inputs"]
    graph = TWO_MODELS["one"]
    assert tensor == {
        "name": "input",
        "shape": [1, 4, 4, 3],
        "dtype": "int8",
        "layout": "NHWC",
        "offset": tensor["offset"],
        "axis": None,
        "scale": [graph.tensors["input"].scale],
        "zero_point": [-5],
    }


def test_parameters_are_the_models_own(archive: Path, module: Module) -> None:
    stored = decode_params(members(archive)["./parameters/two.params"], "two.params")
    for name, array in module["get_params"]("two").items():
        assert array.dtype == stored[name].dtype
        assert np.array_equal(array, stored[name])


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize(
    "device", [uhost.cpu(0), uhost.device("host"), uhost.device(BOARD)], ids=str
)
def test_what_was_exported_runs_as_what_was_built(
    archive: Path, module: Module, device: Device, tmp_path: Path
) -> None:
    loaded = uhost.load_module(shutil.copy(archive, tmp_path / "moved.tar"))
    assert loaded.names == module.names
    check_two_models(loaded, device)
    built, stored = module["get_params"](), loaded["get_params"]()
    assert list(built) == list(stored)
    assert all(np.array_equal(built[name], stored[name]) for name in built)


def test_a_loaded_archive_is_exported_as_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    uhost.load_module(archive).export_library(tmp_path / "again.tar")
    assert (tmp_path / "again.tar").read_bytes() == archive.read_bytes()


def test_a_loaded_archive_gives_its_weights_apart(archive: Path, module: Module) -> None:
    loaded = uhost.load_module(archive)
    assert loaded["get_params_blob"]("one") == module["get_params_blob"]("one")
    bare, device = loaded["remove_params"](), uhost.cpu(0)
    given = small_sample()
    with bare["one"](device, params=module["get_params_blob"]("one", device)) as executor:
        executor.set_input(0, given)
        executor.run()
        assert np.array_equal(executor.get_output(0), expected_output(TWO_MODELS["one"], given))


def test_an_archive_without_weights_holds_none(module: Module, tmp_path: Path) -> None:
    bare = module["remove_params"]()
    path = tmp_path / "bare.tar"
    bare.export_library(path)
    weights = TWO_MODELS["two"].tensors["weights"].constant().tobytes()
    files = members(path)
    assert not [name for name, content in files.items() if weights in content]
    assert not [name for name in files if name.endswith((".tflite", ".bin"))]
    assert decode_params(files["./parameters/two.params"], "") == {}
    loaded, device = uhost.load_module(path), uhost.cpu(0)
    assert loaded["get_params"]() == {}
    with pytest.raises(ConfigError, match="does not hold the weights of 'one'"):
        loaded["get_params_blob"]("one")
    given = small_sample()
    with loaded["one"](device, params=module["get_params_blob"]("one", device)) as executor:
        executor.set_input(0, given)
        executor.run()
        assert np.array_equal(executor.get_output(0), expected_output(TWO_MODELS["one"], given))


def test_an_archive_of_another_version_runs_by_its_own_sources(
    archive: Path, tmp_path: Path
) -> None:
    files = members(archive)
    metadata = json.loads(files["./metadata.json"])
    metadata["uhost"]["uhost"] = "9.9"
    metadata["uhost"]["later_field"] = {"unknown": 1}
    del files["./src/one.tflite"], files["./src/two.tflite"]
    path = rewritten(files, metadata, tmp_path)
    check_two_models(uhost.load_module(path), uhost.cpu(0))
    with pytest.raises(ConfigError) as caught:
        uhost.load_module(path)["one"](uhost.device("host"))
    assert "the module holds no firmware for 'host'" in caught.value.what


def rewritten(files: dict[str, bytes], metadata: object, folder: Path) -> Path:
    files = {**files, "./metadata.json": json.dumps(metadata).encode()}
    path = folder / "changed.tar"
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_changed_sources_are_refused(archive: Path, tmp_path: Path) -> None:
    files = members(archive)
    metadata = json.loads(files["./metadata.json"])
    files["./codegen/native/src/model.c"] += b"\n"
    with pytest.raises(ConfigError) as caught:
        uhost.load_module(rewritten(files, metadata, tmp_path))
    assert caught.value.what == (
        "the files of the library are not those its manifest was written for"
    )


def test_archives_that_are_no_module_are_refused(archive: Path, tmp_path: Path) -> None:
    files = members(archive)
    metadata = json.loads(files["./metadata.json"])
    cases: list[tuple[object, str]] = [
        (
            {"version": 7, "modules": {}},
            "has the Model Library Format but was not written by uhost",
        ),
        ({"uhost": {**metadata["uhost"], "format": 2}}, "has format 2, this uhost reads format 1"),
        ({"uhost": {"format": 1}}, "the manifest of the library cannot be read"),
    ]
    for changed, text in cases:
        with pytest.raises(ConfigError, match=text):
            uhost.load_module(rewritten(files, changed, tmp_path))
    with pytest.raises(ConfigError, match=r"the archive holds the path '../outside'"):
        uhost.load_module(rewritten({**files, "../outside": b""}, metadata, tmp_path))
    (tmp_path / "cut.tar").write_bytes(archive.read_bytes()[:700])
    with pytest.raises(ConfigError, match=r"metadata.json|cannot be read"):
        uhost.load_module(tmp_path / "cut.tar")
    (tmp_path / "text.tar").write_bytes(b"text")
    with pytest.raises(ConfigError, match="the archive cannot be read"):
        uhost.load_module(tmp_path / "text.tar")
    with pytest.raises(ConfigError, match=r"'module.zip' is not a module"):
        uhost.load_module(tmp_path / "module.zip")
    with pytest.raises(ConfigError, match=r"cannot read .*none.tar': No such file"):
        uhost.load_module(tmp_path / "none.tar")


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("name", ["both.tar", "both.a", "folder"])
def test_a_module_for_ones_own_board_file_is_loaded_without_it(
    tmp_path: Path, models: dict[str, Path], name: str
) -> None:
    board = tmp_path / "mine.yaml"
    board.write_bytes((resources.folder("boards") / f"{BOARD}.yaml").read_bytes())
    chip = load_board(BOARD).chip
    (tmp_path / "chips").mkdir()
    shutil.copy(resources.folder("boards") / "chips" / f"{chip}.yaml", tmp_path / "chips")
    device = uhost.device(str(board))
    uhost.build(models, board=str(board)).export_library(tmp_path / name)
    board.unlink()
    check_two_models(uhost.load_module(tmp_path / name), device)


def test_models_without_firmware_run_in_this_process_alone(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    config = driver.configure(load_board(BOARD))
    config = replace(config, runtime=replace(config.runtime, system_lib=False))
    module = uhost.build(models, board=BOARD, config=config)
    module.export_library(tmp_path / "both.tar")
    for made in (module, uhost.load_module(tmp_path / "both.tar")):
        check_two_models(made, uhost.cpu(0))
        with pytest.raises(ConfigError) as caught:
            made["one"](uhost.device(BOARD))
        assert str(caught.value) == (
            f"the module holds no firmware for '{BOARD}', only its models' code\n"
            "  fix:   build with the runtime's system_lib, or run on uhost.cpu(0)"
        )
    metadata = json.loads(members(tmp_path / "both.tar")["./metadata.json"])
    assert metadata["modules"]["one"]["external_dependencies"] == []
