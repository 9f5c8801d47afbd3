"""How the command line ends where the world does not play along: pipes, disks, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

UHOST = (sys.executable, "-m", "uhost")


def test_a_closed_pipe_is_no_difference() -> None:
    for verb in (("boards",), ("boards", "--json")):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as pipe:
            done = subprocess.run((*UHOST, *verb), stdout=pipe, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (141, b"")


def test_closed_pipes_for_output_and_errors() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        done = subprocess.run((*UHOST, "inspect", "/no"), stdout=pipe, stderr=pipe, check=False)
    assert done.returncode == 141


def test_a_closed_output_is_nobody_who_listens() -> None:
    command = f"exec {sys.executable} -m uhost boards >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_a_full_disk_is_told(json_option: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            (*UHOST, "boards", *json_option),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    what = "cannot write standard output: No space left on device"
    fix = "free space there, or send the output elsewhere"
    if json_option:
        error = json.loads(done.stderr)
        assert (error["kind"], error["error"], error["fix"]) == ("ConfigError", what, fix)
    else:
        assert done.stderr == f"error: {what}\n  fix:   {fix}\n"


def test_characters_that_the_output_lacks(tmp_path: Path) -> None:
    done = subprocess.run(
        (*UHOST, "compile", "--board", "host", "-o", tmp_path / "模型"),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/??" in done.stdout


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_ctrl_c_has_its_code_and_one_object(tmp_path: Path, json_option: tuple[str, ...]) -> None:
    slow = tmp_path / "cc"
    slow.write_text(f"#!/bin/sh\ntouch {tmp_path}/begun\nexec sleep 60\n")
    slow.chmod(0o755)
    process = subprocess.Popen(
        (*UHOST, "doctor", *json_option),
        env={**os.environ, "UHOST_ARM_GCC": str(slow)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stdout == ""
    if json_option:
        error = json.loads(stderr)
        assert (error["kind"], error["error"]) == ("Interrupted", "interrupted by the user")
    else:
        assert stderr == "interrupted\n"


@pytest.mark.parametrize("target", ["cache", "folder"])
def test_processes_that_build_the_same_model_take_turns(tmp_path: Path, target: str) -> None:
    arguments = {"cache": ("run",), "folder": ("build", "-o", str(tmp_path / "out"))}[target]
    processes = [
        subprocess.Popen(
            (*UHOST, *arguments, "--board", "host", "--json"),
            env={**os.environ, "UHOST_CACHE": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    ends = [(process.communicate(timeout=120), process.returncode) for process in processes]
    assert [code for _, code in ends] == [0] * 4, ends
    results = [json.loads(stdout)["results"] for (stdout, _), _ in ends]
    assert results == [results[0]] * 4
