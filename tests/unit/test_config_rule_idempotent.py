"""Rule: resolving a resolved configuration gives an equal one."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_files import outside_npu, resolved, write_project

from uhost.config._yaml import to_yaml
from uhost.config.board import board_names
from uhost.config.project import read_project
from uhost.config.resolve import preset, resolve

FULL = """\
models: {kws: kws.tflite, ic: ic.tflite}
board: stm32f746
targets: {cortex_m: {features: [fpu]}}
executor: {aot: {link_params: false, alignment_bytes: 32, c_prefix: tvmgen}}
runtime: {crt: {system_lib: false}}
pools: {workspace: [{name: ram, size_bytes: 65536, speed: 2}]}
kernels: {kws.conv_2d_0: reference}
passes: {opt_level: 1, disabled: [fold_constants], dump: graphs, time: true}
toolchain: zig
output: out
run: {on: unicorn, input: {kws: a.npz}, verify: true}
verify: {golden: g.npz}
bench: {samples: 3}
"""


def again(folder: Path, text: str) -> None:
    found = resolved(folder, text)
    path = write_project(folder / "other", to_yaml(found.as_project()))
    second = resolve({}, read_project(path))
    assert second == found
    assert second.as_project() == found.as_project()
    assert second.config.to_json() == found.config.to_json()


@pytest.fixture(autouse=True)
def other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()


@pytest.mark.parametrize("board", board_names())
def test_of_a_board_alone(tmp_path: Path, board: str) -> None:
    again(tmp_path, f"board: {board}\n")


def test_of_a_full_project(tmp_path: Path) -> None:
    again(tmp_path, FULL)


def test_with_a_second_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with outside_npu(monkeypatch):
        again(tmp_path, "board: stm32f746\ntargets: {cortex_m: {}, npu: {}}\n")


def test_a_board_alone_resolves_to_its_preset(tmp_path: Path) -> None:
    found = resolved(tmp_path, "board: stm32f746\n")
    assert found.config == preset(found.board)
