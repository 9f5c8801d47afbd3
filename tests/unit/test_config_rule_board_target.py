"""Rule: a board gives its device target, and that is the first one."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_files import outside_npu, refusal, resolved

from uhost.config.board import board_names, load_board
from uhost.config.resolve import resolve
from uhost.errors import ConfigError


@pytest.mark.parametrize("board", board_names())
def test_a_board_gives_its_target(board: str) -> None:
    found = resolve({("board",): (board, "--board")})
    target = load_board(board).target
    assert found.config.targets == (target,)
    assert found.origins[f"targets.{target.kind}.cpu"] == (target.cpu, f"board {board}")
    assert found.origins[f"targets.{target.kind}.libraries"][1] == f"target {target.kind}"


def test_a_board_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({})
    assert caught.value.what == "no board given"
    assert caught.value.fix == (
        "add --board NAME, such as host, stm32f746 or microbit: `uhost boards` lists them"
    )
    assert refusal(tmp_path, "output: build\n")[0] == "no board given"


def test_options_edit_the_boards_target(tmp_path: Path) -> None:
    text = "board: stm32f746\ntargets: {cortex_m: {libraries: [reference]}}\n"
    (target,) = resolved(tmp_path, text).config.targets
    assert target.libraries == ("reference",)
    assert (target.cpu, target.features) == ("cortex-m7", ("dsp", "fpu"))


def test_a_second_target_comes_after_the_boards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outside_npu(monkeypatch):
        text = "board: stm32f746\ntargets: {cortex_m: {}, npu: {}}\n"
        config = resolved(tmp_path, text).config
        assert [target.kind for target in config.targets] == ["cortex_m", "npu"]
        assert refusal(tmp_path, "board: stm32f746\ntargets: {npu: {}, cortex_m: {}}\n") == (
            "the first device target is 'npu', but the CPU of the board 'stm32f746' is the target "
            "'cortex_m'",
            "uhost.yaml:2, key targets",
            "give 'cortex_m' first",
        )


def test_the_board_has_the_features_that_code_may_use(tmp_path: Path) -> None:
    text = "board: stm32f746\ntargets: {cortex_m: {features: [dsp, fpu, fpu_double]}}\n"
    assert refusal(tmp_path, text) == (
        "the board 'stm32f746' has no fpu_double",
        "uhost.yaml:2, key targets.cortex_m.features",
        "it has: dsp, fpu",
    )


@pytest.mark.parametrize("kind", ["riscv", "host"])
def test_targets_after_the_first_are_accelerators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    text = f"board: stm32f746\ntargets: {{cortex_m: {{}}, {kind}: {{}}}}\n"
    what = (
        f"the target '{kind}' is a CPU, but the board 'stm32f746' has one already, 'cortex_m': "
        "targets after the first are accelerators"
    )
    where = "uhost.yaml:2, key targets"
    fix = f"leave out '{kind}'; accelerators: "
    assert refusal(tmp_path, text) == (what, where, f"{fix}none installed")
    with outside_npu(monkeypatch):
        assert refusal(tmp_path, text) == (what, where, f"{fix}npu")
