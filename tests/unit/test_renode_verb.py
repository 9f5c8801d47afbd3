"""`uhost test`, and what `uhost build` writes for Renode, with a stand-in for `renode-test`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from uhost import driver, resources
from uhost.codegen.renode import PLATFORM, ROBOT, SCRIPT
from uhost.errors import ConfigError, RunnerError, ToolNotFoundError
from uhost.runners import _renode_test


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a test in it."""
    path = tmp_path / "build"
    (path / ROBOT).parent.mkdir(parents=True)
    (path / ROBOT).write_text("*** Test Cases ***\n")
    return path


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script in place of renode-test, which records its arguments; tests append to it."""
    script = tmp_path / "renode-test"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$$" "$@" >{tmp_path}/record\n')
    script.chmod(0o755)
    monkeypatch.setenv("UHOST_RENODE_TEST", str(script))
    return script


def recorded(stand_in: Path) -> list[str]:
    return (stand_in.parent / "record").read_text().splitlines()


def does(stand_in: Path, what: str) -> None:
    with stand_in.open("a") as script:
        script.write(f"{what}\n")


def test_command(stand_in: Path, folder: Path) -> None:
    assert _renode_test.run(folder)
    assert recorded(stand_in)[1:] == [
        f"{folder}/renode/uhost.robot",
        "-r",
        f"{folder}/renode/results",
    ]


def test_failed_test(stand_in: Path, folder: Path) -> None:
    does(stand_in, "exit 1")
    assert not _renode_test.run(folder, quiet=True)


def test_test_that_does_not_end(
    stand_in: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_renode_test, "TIMEOUT_S", 0.5)
    does(stand_in, "sleep 100 & sleep 100")
    with pytest.raises(RunnerError) as caught:
        _renode_test.run(folder)
    assert caught.value.what == "'renode-test' did not end within 0.5 s"
    with pytest.raises(ProcessLookupError):
        os.kill(int(recorded(stand_in)[0]), 0)


def test_renode_test_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UHOST_RENODE_TEST", raising=False)
    monkeypatch.delenv("UHOST_RENODE", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolNotFoundError) as caught:
        _renode_test.run(folder)
    assert caught.value.what == "'renode-test' is not on PATH"
    assert caught.value.fix.startswith("install Renode 1.15 or later, from renode.io")
    assert caught.value.fix.endswith(
        "its test runner lies beside it, or UHOST_RENODE_TEST names it; then: renode-test "
        f"{folder}/renode/uhost.robot -r {folder}/renode/results"
    )


def test_variable_points_nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UHOST_RENODE_TEST", "/nowhere/renode-test")
    with pytest.raises(ToolNotFoundError) as caught:
        _renode_test.run(folder)
    assert caught.value.what.startswith("the variable UHOST_RENODE_TEST points nowhere")


def test_test_runner_beside_renode(
    stand_in: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UHOST_RENODE_TEST")
    beside = stand_in.parent / "renode"
    beside.write_text("#!/bin/sh\n")
    beside.chmod(0o755)
    monkeypatch.setenv("UHOST_RENODE", str(beside))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert _renode_test.locate() == str(stand_in)


def test_build_without_a_test(stand_in: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        _renode_test.run(tmp_path)
    assert caught.value.what == "the build has no renode/uhost.robot"


def test_build_holds_the_files_outside_its_digest() -> None:
    sources = driver.load(resources.bundled_model())
    compiled = driver.compile_models(sources, "stm32f746g_disco")
    files = compiled.artifact.files
    assert {SCRIPT, PLATFORM, ROBOT} <= set(files)
    assert compiled.digest.encode() in files[ROBOT]
    assert b"digits_run" in files[ROBOT]
    others = driver.compile_models(sources, "mps2_an500").artifact.files
    assert not [path for path in others if path.startswith("renode/")]


def uhost(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "uhost", *arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.needs("arm_gcc")
def test_verb(stand_in: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert uhost("build", "--board", "stm32f746", "-o", str(out)).returncode == 0
    assert (out / SCRIPT).is_file()
    passed = uhost("test", str(out))
    assert passed.returncode == 0, passed.stderr
    assert f"Passed on stm32f746 in Renode; details in {out}/renode/results/" in passed.stdout
    assert recorded(stand_in)[1] == f"{out}/renode/uhost.robot"
    does(stand_in, "exit 1")
    failed = uhost("test", str(out), "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["results"] == [
        {"board": "stm32f746", "passed": False, "results": f"{out}/renode/results"}
    ]


def test_verb_refuses_a_board_that_renode_has_not(stand_in: Path) -> None:
    done = uhost("test", "--board", "mps2_an500", "--toolchain", "zig")
    assert done.returncode == 2
    assert (
        "the board 'mps2_an500' cannot be tested in Renode: the board names no Renode platform"
        in done.stderr
    )
