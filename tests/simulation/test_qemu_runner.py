"""The firmware in QEMU over RPC: the same answers as in Unicorn, and no process left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import simulated_firmware as firmware
from simulated_firmware import CRASHES, INPUT, TIMEOUT_S, WORK, connect

from uhost.errors import DeviceFault, RunnerError
from uhost.rpc.session import FirmwareFault
from uhost.runners.qemu import RUNNER, QemuTransport

BOARDS = ("mps2_an500", "netduinoplus2")

pytestmark = [pytest.mark.needs("qemu"), pytest.mark.xdist_group("qemu_runner")]


@pytest.mark.parametrize("board", BOARDS)
def test_firmware_runs_a_model(board: str) -> None:
    session, _ = connect(board, "zig", "qemu")
    with session:
        assert not session.device.has_cycles
        session.write_input(WORK, 0, INPUT)
        report = session.run(WORK, TIMEOUT_S)
        assert report.cycles is None
        assert firmware.outputs(session) == firmware.expected_outputs()


@pytest.mark.parametrize("board", BOARDS)
def test_crash_is_reported_by_the_firmware(board: str) -> None:
    session, _ = connect(board, "zig", "qemu")
    with session:
        with pytest.raises(FirmwareFault) as caught:
            session.run_operator(CRASHES, firmware.UNDEFINED, TIMEOUT_S)
        assert caught.value.what == "the firmware crashed: UsageFault: undefined instruction"
        place = caught.value.where.split(",")[0]
        assert " in execute_undefined+0x" in place or " in crash+0x" in place


def test_crash_that_locks_the_core_up() -> None:
    session, _ = connect("mps2_an500", "zig", "qemu")
    with session:
        with pytest.raises(DeviceFault) as caught:
            session.run_operator(CRASHES, firmware.NO_VECTORS, TIMEOUT_S)
        assert not isinstance(caught.value, FirmwareFault)
        place = caught.value.where.split(",")[0]
        assert " in break_vector_table+0x" in place or " in crash+0x" in place


def test_unknown_machine() -> None:
    board, image = firmware.firmware("mps2_an500", "zig")
    (program,) = RUNNER.locate().argv
    line = QemuTransport((program, "-machine", "no-such-machine"), image, board)
    with pytest.raises(RunnerError) as caught:
        line.read(1, TIMEOUT_S)
    assert caught.value.what == "QEMU ended with exit code 1"
    assert "unsupported machine type" in caught.value.where
    line.close()


def test_qemu_ends_with_the_interpreter(tmp_path: Path) -> None:
    """Also when the user's program forgets to close the line."""
    script = tmp_path / "forgets.py"
    script.write_text(
        "import simulated_firmware\n"
        "session, line = simulated_firmware.connect('mps2_an500', 'zig', 'qemu')\n"
        "print(line._process.pid)\n"
    )
    tests = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(tests)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
