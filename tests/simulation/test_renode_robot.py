"""The generated Robot test, executed: by Robot, over the real firmware without Renode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import rpc_firmware

from uhost.codegen.artifact import Artifact
from uhost.codegen.renode import ROBOT, renode_files
from uhost.config.board import load_board

DIGEST = "0123456789abcdef" * 4

pytestmark = pytest.mark.needs("host_cc")


def run(folder: Path, digest: str, models: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Runs the test of a board against the firmware of `rpc_firmware`."""
    Artifact(renode_files(load_board("stm32f746g_disco"), digest, models)).write(folder)
    program = rpc_firmware.build(folder)
    keywords = folder / "keywords.resource"
    keywords.write_text("*** Settings ***\nLibrary    renode_keywords.py\n")
    tests = Path(__file__).resolve().parent.parent
    return subprocess.run(
        (
            *(sys.executable, "-m", "robot", "--outputdir", str(folder / "results")),
            *("--variable", f"RENODEKEYWORDS:{keywords}", "--pythonpath", str(tests)),
            str(folder / ROBOT),
        ),
        env={**os.environ, "FIRMWARE": str(program)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_test_passes_on_the_build_it_was_made_for(tmp_path: Path) -> None:
    done = run(tmp_path, DIGEST, ("double_sum", "trouble"))
    assert done.returncode == 0, done.stdout
    assert "3 tests, 3 passed, 0 failed" in done.stdout


def test_test_fails_on_another_build(tmp_path: Path) -> None:
    """The digest is what is compared, so a build beside another test is found out."""
    done = run(tmp_path, "f" * 64, ())
    assert done.returncode == 1, done.stdout
    assert "no line matches '.*ffff" in done.stdout
