"""The firmware's RPC server takes any byte stream: see rpc_receiver/harness.c.

More executions: `UHOST_FUZZ_EXECUTIONS=10000000 pytest tests/fuzz/test_rpc_receiver.py`, or
`./dev reliability`, which writes the result into docs/reliability.md.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from rpc_receiver_harness import build_harness

EXECUTIONS = int(os.environ.get("UHOST_FUZZ_EXECUTIONS", "100000"))


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_harness(tmp_path_factory.mktemp("rpc_receiver"))


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("seed", [1, 2])
def test_the_server_survives_any_byte_stream(harness: Path, seed: int) -> None:
    result = subprocess.run(
        [harness, str(EXECUTIONS), str(seed)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith(f"{EXECUTIONS} executions, ")
    # Most of what it is sent is well-formed, so it answers: this is no test of silence.
    assert int(result.stdout.split()[2]) > 10 * EXECUTIONS
