"""What `uhost.build` and modules say when they are given something else than they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import TWO_MODELS, expected_output, small_sample, write_two_models

import uhost
from uhost.errors import ConfigError
from uhost.runtime.module import Module

PATHS = "\n  fix:   give the path of a model file, a list of paths, or a dict of name to path"


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    return uhost.build(write_two_models(tmp_path_factory.mktemp("models")), board="host")


@pytest.mark.parametrize(
    ("models", "text"),
    [
        ([], "no model given"),
        ({}, "no model given"),
        (None, "a model is the path of its file, not NoneType"),
        ([None], "a model is the path of its file, not NoneType"),
        ({"one": 3}, "a model is the path of its file, not int"),
    ],
)
def test_what_is_no_model_is_refused(models: Any, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        uhost.build(models, board="host")
    assert str(caught.value) == f"{text}\n  where: models{PATHS}"


def test_what_is_no_board_is_refused(tmp_path: Path) -> None:
    nothing: Any = None
    with pytest.raises(ConfigError) as caught:
        uhost.build(write_two_models(tmp_path), board=nothing)
    assert str(caught.value) == (
        "a board is its name or a Board, not NoneType\n"
        "  where: board\n"
        "  fix:   give a name that `uhost boards` lists"
    )


def test_what_is_no_device_is_refused(module: Module) -> None:
    device: Any = "cpu"
    for call in (
        lambda: module["one"](device),
        lambda: module.debug_create("one", device),
        lambda: module.get_params_blob("one", device),
    ):
        with pytest.raises(ConfigError) as caught:
            call()
        assert str(caught.value) == (
            "a device is needed, not 'cpu'\n  fix:   give uhost.cpu(0), or uhost.device(BOARD)"
        )


def test_what_is_no_blob_of_weights_is_refused(module: Module) -> None:
    with pytest.raises(ConfigError) as caught:
        module["one"](uhost.cpu(0), params=3)
    assert str(caught.value) == (
        "weights are bytes or the path of a file, not int\n"
        "  where: params\n"
        "  fix:   give what get_params_blob returns, or the path of a file of it"
    )


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_weights_are_bytes_of_any_kind(module: Module, kind: Any) -> None:
    device, given = uhost.cpu(0), small_sample()
    bare = module.remove_params()
    with bare["one"](device, params=kind(module.get_params_blob("one", device))) as executor:
        executor.set_input(0, given)
        executor.run()
        assert np.array_equal(executor.get_output(0), expected_output(TWO_MODELS["one"], given))


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("form", ["folder", "module.c", "module.a", "module.so"])
def test_weights_that_are_only_in_code_cannot_be_asked_for(
    module: Module, form: str, tmp_path: Path
) -> None:
    module.export_library(tmp_path / form)
    loaded = uhost.load_module(tmp_path / form)
    for call in (
        lambda: loaded.get_params("one"),
        lambda: loaded.get_params(),
        lambda: loaded.get_params_blob("one"),
    ):
        with pytest.raises(ConfigError) as caught:
            call()
        assert str(caught.value) == (
            "the module does not hold the weights of 'one' apart from its code\n"
            "  fix:   ask the module that was built from the model, before remove_params"
        )


def test_a_bare_folder_holds_no_weights(module: Module, tmp_path: Path) -> None:
    module.remove_params().export_library(tmp_path / "bare")
    assert uhost.load_module(tmp_path / "bare").get_params() == {}


def test_dir_lists_the_public_names() -> None:
    listed = dir(uhost)
    assert set(uhost.__all__) <= set(listed)
    assert listed == sorted(listed)
    assert all(hasattr(uhost, name) for name in listed)
