"""Weights apart from the code: taken out, supplied as a blob, and the wrong ones refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from small_models import expected_output, small_graph, small_sample, write_model

import uhost
from uhost import driver, resources
from uhost.config.board import load_board
from uhost.errors import ConfigError, RemoteError
from uhost.runtime.device import Device
from uhost.runtime.graph_module import GraphModule
from uhost.runtime.module import Module

GRAPHS = {"one": small_graph(5), "two": small_graph(9)}
BOARD = "mps2_an500"


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    folder = tmp_path_factory.mktemp("models")
    paths = {name: write_model(folder, graph) for name, graph in GRAPHS.items()}
    return uhost.build(paths, board=BOARD)


@pytest.fixture(scope="module")
def bare(module: Module) -> Module:
    return module["remove_params"]()


def devices() -> list[Device]:
    return [uhost.cpu(0), uhost.device("host"), uhost.device(BOARD, on="unicorn")]


def check(executor: GraphModule, name: str) -> None:
    given = small_sample(3)
    executor.set_input(0, given)
    executor.run()
    assert np.array_equal(executor.get_output(0), expected_output(GRAPHS[name], given))


@pytest.mark.parametrize("device", devices(), ids=str)
def test_a_module_without_weights_runs_with_the_blob(
    module: Module, bare: Module, device: Device, tmp_path: Path
) -> None:
    for name in GRAPHS:
        blob = module["get_params_blob"](name, device)
        with bare[name](device, params=blob) as executor:
            check(executor, name)
        (tmp_path / "weights.bin").write_bytes(blob)
        with bare["debug_create"](name, device) as executor:
            executor.set_params(tmp_path / "weights.bin")
            check(executor, name)


def test_removing_changes_nothing_on_the_module_it_is_asked_of(
    module: Module, bare: Module
) -> None:
    assert module["get_params"]("one")
    assert bare["get_params"]() == {}
    with module["one"](uhost.cpu(0)) as executor:
        check(executor, "one")
    with pytest.raises(ConfigError) as caught:
        bare["get_params_blob"]("one")
    assert str(caught.value) == (
        "the module does not hold the weights of 'one' apart from its code\n"
        "  fix:   ask the module that was built from the model, before remove_params"
    )


@pytest.mark.parametrize("device", devices(), ids=str)
def test_another_models_weights_are_refused_before_they_are_sent(
    module: Module, bare: Module, device: Device
) -> None:
    blob = module["get_params_blob"]("two", device)
    with pytest.raises(ConfigError) as caught:
        bare["one"](device, params=blob)
    assert caught.value.what == (
        f"the blob does not hold the weights of 'one' as built for {device}"
    )
    own = module["get_params_blob"]("one", device)
    assert caught.value.where == f"digest {blob[16:24].hex()}, expected {own[16:24].hex()}"


@pytest.mark.parametrize("device", devices(), ids=str)
def test_the_generated_code_itself_refuses_wrong_weights(
    module: Module, bare: Module, device: Device
) -> None:
    wrong = bytearray(module["get_params_blob"]("one", device))
    wrong[20] ^= 1
    with bare["one"](device, params=module["get_params_blob"]("one", device)) as executor:
        executor.set_input(0, small_sample())

        def replace_and_run() -> None:
            executor._connection.write_params(bytes(wrong))  # where a device refuses at once
            executor.run()

        with pytest.raises(RemoteError):
            replace_and_run()


def test_what_is_no_blob_is_refused(module: Module, bare: Module, tmp_path: Path) -> None:
    device = uhost.cpu(0)
    blob = module["get_params_blob"]("one", device)
    for wrong, text in (
        (b"", "the blob does not hold the weights of 'one'"),
        (blob[:-1], f"the blob of weights has {len(blob) - 1} B, its header says {len(blob)} B"),
        (tmp_path / "none.bin", "the weights cannot be read: No such file or directory"),
    ):
        with pytest.raises(ConfigError, match=text):
            bare["one"](device, params=wrong)
    with pytest.raises(ConfigError, match="the code of the model 'one' holds its weights already"):
        module["one"](device, params=blob)
    with bare["one"](device) as executor:
        executor.set_input(0, small_sample())
        with pytest.raises(ConfigError) as caught:
            executor.run()
    assert str(caught.value) == (
        "the model 'one' has no weights\n"
        "  fix:   give them: module[name](device, params=blob), or executor.set_params(blob)"
    )


@pytest.mark.parametrize("placement", ["ram", "flash"])
def test_a_module_built_with_weights_apart_supplies_them(
    tmp_path: Path, placement: Literal["ram", "flash"]
) -> None:
    path = write_model(tmp_path, GRAPHS["one"])
    config = driver.configure(load_board(BOARD))
    executor_options = replace(config.executor, link_params=False, params_placement=placement)
    config = replace(config, executor=executor_options)
    module = uhost.build({"one": path}, board=BOARD, config=config)
    module.export_library(tmp_path / "one.tar")
    for made in (module, uhost.load_module(tmp_path / "one.tar")):
        for device in (uhost.cpu(0), uhost.device(BOARD, on="unicorn")):
            with made["one"](device) as executor:
                check(executor, "one")


def test_weights_by_name_are_those_of_the_model_file() -> None:
    module = uhost.build(resources.bundled_model(), board="host")
    params = module["get_params"]()
    assert params["digits_1/classifier_1/MatMul"].shape == (10, 192)
    assert {str(array.dtype) for array in params.values()} == {"int8", "int32"}


@pytest.mark.parametrize("device", devices(), ids=str)
def test_a_damaged_blob_is_refused_before_it_is_sent(
    module: Module, bare: Module, device: Device
) -> None:
    blob = module["get_params_blob"]("one", device)
    for at in (48, 80, len(blob) - 1):
        damaged = bytearray(blob)
        damaged[at] ^= 1
        with pytest.raises(
            ConfigError, match="'one' is damaged: its arrays do not have its digest"
        ):
            bare["one"](device, params=bytes(damaged))
