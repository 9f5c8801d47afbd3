"""Weights in flash: an executor is given the module's own, or is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_models import expected_output, small_graph, small_sample, write_model

import uhost
from uhost import driver
from uhost.config.board import load_board
from uhost.errors import ConfigError
from uhost.runtime.module import Module

BOARD = "mps2_an500"
GRAPH = small_graph(5)

pytestmark = pytest.mark.needs("arm_gcc")


def in_flash(folder: Path) -> Module:
    config = driver.configure(load_board(BOARD))
    executor = replace(config.executor, link_params=False, params_placement="flash")
    models = {"one": write_model(folder, GRAPH)}
    return uhost.build(models, board=BOARD, config=replace(config, executor=executor))


def test_only_the_blob_in_flash_is_taken(tmp_path: Path) -> None:
    module, device = in_flash(tmp_path), uhost.device(BOARD, on="unicorn")
    blob = module.get_params_blob("one")
    other = bytearray(blob)
    other[-1] ^= 1
    for wrong in (bytes(other), b""):
        with pytest.raises(ConfigError) as caught:
            module["one"](device, params=wrong)
        assert str(caught.value) == (
            "the weights of 'one' lie in flash: an executor cannot be given others\n"
            "  where: params\n"
            "  fix:   leave out params, and flash params_one.bin of a build that has these weights"
        )
    (tmp_path / "same.bin").write_bytes(blob)
    for same in (blob, tmp_path / "same.bin"):
        with module["one"](device, params=same) as executor:
            executor.set_input(0, small_sample())
            executor.run()
            expected = expected_output(GRAPH, small_sample())
            assert np.array_equal(executor.get_output(0), expected)


def test_a_folder_with_packed_weights_says_how_to_get_them(tmp_path: Path) -> None:
    in_flash(tmp_path).export_library(tmp_path / "c")
    loaded = uhost.load_module(tmp_path / "c")
    with pytest.raises(ConfigError) as caught:
        loaded.get_params()
    assert str(caught.value) == (
        "the module holds the weights of 'one' only as its kernels pack them\n"
        "  fix:   take them by get_params_blob, or ask the module that was built from the model"
    )
    assert loaded.get_params_blob("one")
