"""Compiling an MLPerf Tiny model takes less than 3 s of one core, without remembered answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 3.0

PROGRAM = """
import sys, time
from pathlib import Path
from uhost import driver
compiled = driver.compile_models(driver.load(sys.argv[1]), sys.argv[2])
assert compiled.artifact.files
print(time.process_time())
"""


@pytest.mark.parametrize("model", ["kws", "vww", "ic", "ad"])
def test_a_cold_compilation_takes_less_than_three_seconds(
    model: str, shared_models: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, shared_models / f"mlperf_{model}_int8.tflite", "stm32f746"],
        env={**os.environ, "UHOST_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < LIMIT_S
