"""Rule: an option for a target, an executor or a runtime that is not selected is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
from config_files import outside_npu, refusal, resolved

from uhost.config import _resolve_parts
from uhost.config._layers import Values
from uhost.config.compilation import EXECUTORS

BOARD = "board: stm32f746\n"


def test_an_option_of_a_target_on_the_command_line(tmp_path: Path) -> None:
    values: Values = {("targets", "host", "libraries"): (("reference",), "--target-host-libraries")}
    assert refusal(tmp_path, BOARD, values) == (
        "'libraries' is an option of the target 'host', which is not selected",
        "command line, --target-host-libraries",
        "selected: cortex_m; select the target, or remove the option",
    )


def test_an_option_in_the_file_for_what_the_command_line_did_not_select(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{BOARD}targets:\n  cortex_m: {{}}\n  npu: {{cpu: npu1}}\n"
    with outside_npu(monkeypatch):
        assert len(resolved(tmp_path, text).config.targets) == 2
    values: Values = {("targets",): (("cortex_m",), "--target")}
    assert refusal(tmp_path, text, values) == (
        "'cpu' is an option of the target 'npu', which is not selected",
        "uhost.yaml:4, key targets.npu.cpu",
        "selected: cortex_m; select the target, or remove the option",
    )


@dataclass(frozen=True)
class Graph:
    """An executor that does not exist."""

    name: str = "graph"


def test_an_option_of_an_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = MappingProxyType({**EXECUTORS, "graph": Graph})
    monkeypatch.setattr(_resolve_parts, "EXECUTORS", known)
    values: Values = {
        ("executor",): (("graph",), "--executor"),
        ("executor", "aot", "link_params"): (False, "--executor-aot-link-params"),
    }
    what, where, fix = refusal(tmp_path, BOARD, values)
    assert what == "'link_params' is an option of the executor 'aot', which is not selected"
    assert where == "command line, --executor-aot-link-params"
    assert fix == "selected: graph; select the executor, or remove the option"


@pytest.mark.parametrize(("what", "known"), [("executor", "aot"), ("runtime", "crt")])
def test_executors_and_runtimes_that_do_not_exist(tmp_path: Path, what: str, known: str) -> None:
    values: Values = {(what,): (("graph",), f"--{what}")}
    assert refusal(tmp_path, BOARD, values) == (
        f"there is no {what} 'graph'",
        f"command line, --{what}",
        f"known: {known}",
    )
    assert refusal(tmp_path, f"{BOARD}{what}: {{graph: {{}}}}\n") == (
        "unknown key 'graph'",
        f"uhost.yaml:2, key {what}.graph",
        f"known: {known}",
    )


def test_there_is_one_executor(tmp_path: Path) -> None:
    values: Values = {("executor",): (("aot", "aot"), "--executor")}
    assert refusal(tmp_path, BOARD, values) == (
        "there is one executor, not 2: aot, aot",
        "command line, --executor",
        "keep one of them",
    )
