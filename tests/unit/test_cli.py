"""The command line: verbs, errors with exit codes, and JSON for programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from uhost import resources
from uhost.cli import COMMANDS
from uhost.config.board import board_names


def uhost(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "uhost", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


@pytest.mark.parametrize("verb", COMMANDS.names())
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    result = uhost(verb, "--help")
    assert result.returncode == 0
    assert f"Example: uhost {verb}" in result.stdout


def test_the_version_and_the_verbs() -> None:
    assert uhost("--version").stdout.startswith("uhost, version ")
    for verb in COMMANDS.names():
        assert f"\n  {verb} " in uhost("--help").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run",), 2, "error: no board given"),
        (("run", "kb_typo"), 3, "error: there is no model or build folder 'kb_typo'\n"),
        (("build", "kb_typo"), 3, "error: there is no model or build folder 'kb_typo'\n"),
        (("run", "--board", "stm32f74"), 2, "fix:   did you mean 'stm32f746'?"),
        (("run", "--board", "stm32f746", "--on", "qemu"), 2, "fix:   use --on unicorn"),
        (("run", "--board", "stm32f746", "--on", "quemu"), 2, "did you mean 'qemu'?"),
        (("build", "--board", "stm32f746", "--toolchain", "host_cc"), 2, "does not build for"),
        (("run", "--board", "host", "--output", "o.txt"), 2, "are written as .npz, not '.txt'\n"),
        (("run", "--board", "host", "--output", "o"), 2, "are written as .npz, not 'o'\n"),
        (("inspect", "/nowhere.tflite"), 3, "error: there is no model or build folder"),
        (("nonsense",), 2, "No such command 'nonsense'"),
        (("compile", "--board", "host"), 2, "Missing option '-o'"),
        (("compile", "--board", "host", "-o", "/dev/null/x"), 2, "error: cannot write '/dev/null"),
        (("compile", "--board", "host", "-o", "/dev/null/x.tar"), 2, "error: cannot write '/dev/"),
    ],
)
def test_a_mistake_has_a_code_and_a_message(
    arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = uhost(*arguments)
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_an_error_for_programs_is_one_object() -> None:
    result = uhost("run", "--board", "nope", "--json")
    assert result.returncode == 2
    assert result.stdout == ""
    lines = result.stderr[result.stderr.index("{") :]
    error = json.loads(lines)
    assert error["error"] == "there is no board 'nope'"
    assert {"error", "where", "fix"} <= error.keys()
    usage = json.loads(uhost("run", "--json", "--bord", "x").stderr)
    assert "No such option" in usage["error"]


def test_boards_ops_and_inspect_print_results_for_programs() -> None:
    boards = json.loads(uhost("boards", "--json").stdout)["results"]
    assert [b["board"] for b in boards] == list(board_names())
    ops = json.loads(uhost("ops", "--json").stdout)["results"]
    [pad] = [operator for operator in ops if operator["operator"] == "pad"]
    assert pad["formats"] == {"tflite": ["PAD", "PADV2"]}
    [model] = json.loads(uhost("inspect", "--json", resources.bundled_model()).stdout)["results"]
    assert model["macs"] == sum(o["macs"] for o in model["operators"]) == 82304
    assert model["inputs"][0]["shape"] == [1, 8, 8, 1]


def test_completion_prints_a_script() -> None:
    assert "_UHOST_COMPLETE=bash_complete" in uhost("completion", "bash").stdout


def test_a_build_folder_runs_in_place_of_a_model(tmp_path: Path) -> None:
    built = uhost("build", "--board", "host", "-o", tmp_path / "out", "--json")
    assert built.returncode == 0, built.stderr
    [manifest] = json.loads(built.stdout)["results"]
    assert manifest["board"] == "host"
    ran = uhost("run", tmp_path / "out", "--json", "--output", tmp_path / "o.npz")
    assert ran.returncode == 0, ran.stderr
    [record] = json.loads(ran.stdout)["results"]
    assert record["exact"] is True
    assert (tmp_path / "o.npz").is_file()
    other = uhost("run", tmp_path / "out", "--board", "stm32f746")
    assert other.returncode == 2
    assert "the build is for the board 'host', not 'stm32f746'" in other.stderr
    (tmp_path / "out" / "digits.tflite").write_bytes(b"")
    assert uhost("run", tmp_path / "out").returncode == 3
    assert "is a folder without manifest.json" in uhost("run", tmp_path).stderr


def test_a_build_for_ones_own_board_file_can_be_moved_and_run(tmp_path: Path) -> None:
    source = resources.folder("boards") / "nucleo_f746zg.yaml"
    (tmp_path / "mine.yaml").write_bytes(source.read_bytes())
    arguments = ("--board", tmp_path / "mine.yaml", "-o", tmp_path / "out")
    assert uhost("build", *arguments).returncode == 0
    (tmp_path / "mine.yaml").unlink()
    (tmp_path / "out").rename(tmp_path / "moved")
    ran = uhost("run", tmp_path / "moved", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["results"][0]["board"] == "mine"


def test_compile_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("a.tar", "b.tar", "folder"):
        result = uhost("compile", "--board", "stm32f746", "-o", tmp_path / name)
        assert result.returncode == 0, result.stderr
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    names = {p.name for p in (tmp_path / "folder").iterdir()}
    assert names == {"CMakeLists.txt", "manifest.json", "model.c", "model.h"}


def test_verify_refuses_a_golden_file_that_expects_nothing(tmp_path: Path) -> None:
    (tmp_path / "g.bin").write_bytes(bytes(64))
    result = uhost(
        "verify", resources.bundled_model(), "--board", "host", "--golden", tmp_path / "g.bin"
    )
    assert result.returncode == 2
    assert result.stderr.startswith("error: the golden file has no expected outputs\n")


def test_a_wrong_expectation_is_exit_code_1(tmp_path: Path) -> None:
    import numpy as np

    with np.load(resources.bundled_model().with_suffix(".npz")) as archive:
        arrays = {key: archive[key] for key in archive.files}
    arrays["s3_out_0"] = arrays["s3_out_0"] + np.int8(1)
    np.savez(tmp_path / "wrong.npz", **arrays)
    result = uhost(
        "verify", resources.bundled_model(), "--board", "host", "--golden", tmp_path / "wrong.npz"
    )
    assert result.returncode == 1
    assert "matches the reference: NO. 1 of 20 tensors differ" in result.stdout
