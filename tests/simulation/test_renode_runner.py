"""The Renode runner's command, its line, and its end, with a stand-in for Renode."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import rpc_firmware

from uhost.codegen.artifact import Artifact
from uhost.codegen.renode import renode_files
from uhost.config.board import load_board
from uhost.errors import ConfigError, DeadlineError, RunnerError, ToolNotFoundError
from uhost.rpc.session import Session
from uhost.runners import renode
from uhost.runners._runner import RUNNERS
from uhost.runners.qemu import command as qemu_command
from uhost.runners.renode import RUNNER, RenodeRunner, RenodeTransport, command
from uhost.toolchain._toolchain import Image

BOARD = load_board("stm32f746g_disco")
TESTS = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class StandIn:
    """What the stand-in is made to do, and what it recorded."""

    image: Image
    record: Path

    def argv(self) -> list[str]:
        return [str(one) for one in json.loads(self.record.read_text().splitlines()[0])[1]]

    def pids(self) -> list[int]:
        first, *others = self.record.read_text().splitlines()
        return [int(json.loads(first)[0]), *map(int, others)]

    def assert_nothing_is_left(self) -> None:
        assert not [pid for pid in self.pids() if is_running(pid)]
        for argument in self.argv():
            if argument.startswith("set pty"):
                assert not Path(argument.split('"')[1]).parent.exists()


def is_running(pid: int) -> bool:
    """A process that has ended and was collected by nobody does not run."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    script = tmp_path / "bin dir" / "renode"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{TESTS}/stand_in_renode.py" "$@"\n')
    script.chmod(0o755)
    record = tmp_path / "record"
    monkeypatch.setenv("UHOST_RENODE", str(script))
    monkeypatch.setenv("RENODE_RECORD", str(record))
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # one that is killed leaves its folder there
    return StandIn(Image(tmp_path / "a build" / "firmware.elf", "zig", 0, 0, 0, {}), record)


def exchange(line: RenodeTransport, sent: bytes) -> bytes:
    line.write(sent, 5.0)
    received = b""
    while len(received) < len(sent):
        received += line.read(65536, 5.0)
    return received


# ---- The command ------------------------------------------------------------------------------


def test_runner_is_registered() -> None:
    assert RUNNERS["renode"] is RUNNER


def test_command() -> None:
    image = Image(Path("/a build/firmware.elf"), "zig", 0, 0, 0, {})
    options = ("--disable-xwt", "--console", "--plain", "--hide-log")
    script = ("-e", "include @/a\\ build/renode/uhost.resc")
    assert command(image, BOARD) == (
        *options,
        *script,
        *("-e", 'set pty "uart"', "-e", "runMacro $start_on_pty"),
    )
    assert command(image, BOARD, Path("/tmp/x/uart"))[6:] == (
        *("-e", 'set pty "/tmp/x/uart"', "-e", "runMacro $start_on_pty"),
    )
    assert command(image, BOARD, 4321)[6:] == (
        *("-e", "set port 4321", "-e", "runMacro $start_on_port"),
    )


def test_board_without_a_platform() -> None:
    board = load_board("mps2_an500")
    assert RUNNER.supports(BOARD) == ""
    assert RUNNER.supports(board) == "the board names no Renode platform"
    with pytest.raises(ConfigError) as caught:
        RUNNER.start(Image(Path("x"), "zig", 0, 0, 0, {}), board)
    assert caught.value.what == (
        "the runner 'renode' does not run 'mps2_an500': the board names no Renode platform"
    )


# ---- Renode is absent -------------------------------------------------------------------------


def test_not_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UHOST_RENODE", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolNotFoundError) as caught:
        RUNNER.start(Image(Path("/build/firmware.elf"), "zig", 0, 0, 0, {}), BOARD)
    assert str(caught.value) == (
        "'renode' is not on PATH\n"
        "  where: PATH\n"
        "  fix:   install Renode 1.15 or later, from renode.io or your system's packages, and put "
        "'renode' on PATH, or its path in UHOST_RENODE; then: renode --disable-xwt --console "
        "--plain --hide-log -e 'include @/build/renode/uhost.resc' -e 'set pty \"uart\"' "
        "-e 'runMacro $start_on_pty'"
    )


def test_variable_points_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UHOST_RENODE", "/nowhere/renode")
    with pytest.raises(ToolNotFoundError) as caught:
        RUNNER.start(Image(Path("/build/firmware.elf"), "zig", 0, 0, 0, {}), BOARD)
    assert caught.value.what == (
        "the variable UHOST_RENODE points nowhere: '/nowhere/renode' is not an executable program"
    )
    assert "correct UHOST_RENODE, or unset it" in caught.value.fix
    assert "; then: renode --disable-xwt" in caught.value.fix


def test_renode_is_too_old(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENODE_VERSION", "Renode v1.14.0.1")
    with pytest.raises(ToolNotFoundError) as caught:
        RUNNER.start(stand_in.image, BOARD)
    assert caught.value.what == (
        f"UHOST_RENODE names '{os.environ['UHOST_RENODE']}', which is Renode 1.14: too old"
    )
    assert caught.value.where == "environment variable UHOST_RENODE"


# ---- The line ---------------------------------------------------------------------------------


def test_every_byte_passes_a_pty(stand_in: StandIn) -> None:
    """Raw: no byte is a line end, a signal or flow control."""
    line = RUNNER.start(stand_in.image, BOARD)
    line.open()
    content = bytes(range(256)) * 64
    assert exchange(line, content) == content
    assert line.executed_instructions() == 0x2_0001_E240
    with pytest.raises(DeadlineError):
        line.read(1, 0.05)
    line.close()
    assert stand_in.argv()[:2] == ["-e", next(a for a in stand_in.argv() if "logFile @" in a)]
    stand_in.assert_nothing_is_left()
    line.close()


def test_a_port_where_there_are_no_ptys(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renode, "has_pty", lambda: False)
    line = RUNNER.start(stand_in.image, BOARD)
    content = bytes(range(256)) * 64
    assert exchange(line, content) == content
    assert "runMacro $start_on_port" in stand_in.argv()
    line.close()
    stand_in.assert_nothing_is_left()


def test_no_ptys(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> tuple[int, int]:
        raise OSError("out of pty devices")

    assert renode.has_pty()
    monkeypatch.setattr(os, "openpty", refuse)
    assert not renode.has_pty()


@pytest.mark.needs("host_cc")
def test_session_with_the_firmware(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The real firmware and protocol behind Renode's console."""
    monkeypatch.setenv("RENODE_FIRMWARE", str(rpc_firmware.build(tmp_path)))
    with Session(RUNNER.start(stand_in.image, BOARD)) as session:
        assert [model.name for model in session.handshake().models] == ["double_sum", "trouble"]
        session.write(1, 0, bytes(range(256)) * 100)
        assert session.read(1, 0, 25600) == bytes(range(256)) * 100
        assert len(stand_in.pids()) == 2
    stand_in.assert_nothing_is_left()


def test_the_builds_script_is_used_as_it_is(stand_in: StandIn) -> None:
    folder = stand_in.image.elf.parent
    Artifact(renode_files(BOARD, "d" * 64, ("kws",))).write(folder)
    script = folder / "renode" / "uhost.resc"
    script.write_text(script.read_text() + "# mine\n")
    RUNNER.start(stand_in.image, BOARD).close()
    assert script.read_text().endswith("# mine\n")
    assert (folder / "renode" / "uhost.robot").is_file()


def test_instructions_of_a_function_are_not_claimed() -> None:
    assert not hasattr(RenodeTransport, "counts")


# ---- The end ----------------------------------------------------------------------------------


def test_renode_dies_at_once(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENODE_DOES", "die")
    with pytest.raises(RunnerError) as caught:
        RUNNER.start(stand_in.image, BOARD)
    assert caught.value.what == "Renode ended with exit code 3"
    assert caught.value.where.startswith("stm32f746g_disco in Renode: ")
    assert "Unhandled exception: out of memory" in caught.value.where
    assert "a remark" in caught.value.where
    assert caught.value.fix.startswith("run it by hand: ")
    stand_in.assert_nothing_is_left()


def test_renode_refuses_a_command(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENODE_DOES", "complain")
    with pytest.raises(RunnerError) as caught:
        RUNNER.start(stand_in.image, BOARD)
    assert caught.value.what == "Renode did not carry out a command"
    assert "Could not find file 'platforms/none.repl'" in caught.value.where
    stand_in.assert_nothing_is_left()


def test_renode_is_not_ready_in_time(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uhost.runners._renode_monitor._QUIT_S", 0.2)
    monkeypatch.setenv("RENODE_DOES", "hang")
    with pytest.raises(RunnerError) as caught:
        RenodeRunner(start_s=1.0).start(stand_in.image, BOARD)
    assert caught.value.what == "Renode was not ready within 1 s"
    stand_in.assert_nothing_is_left()


def test_renode_dies_in_use(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENODE_DOES", "die_later")
    line = RUNNER.start(stand_in.image, BOARD)
    line.write(b"hello", 5.0)
    with pytest.raises(RunnerError) as caught:
        line.read(1, 5.0)
    assert caught.value.what == "Renode ended with signal 9 (Killed)"
    assert "CPU abort [PC=0x0]" in caught.value.where
    with pytest.raises(RunnerError):
        line.executed_instructions()
    line.close()
    stand_in.assert_nothing_is_left()


def test_renode_that_does_not_want_to_end(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uhost.runners._renode_monitor._QUIT_S", 0.2)
    monkeypatch.setenv("RENODE_DOES", "ignore")
    line = RUNNER.start(stand_in.image, BOARD)
    line.close()
    stand_in.assert_nothing_is_left()


def program(stand_in: StandIn, then: str) -> subprocess.Popen[str]:
    """Starts Renode in a process of its own, which prints a line and goes on with `then`."""
    code = (
        "import os, time\nfrom pathlib import Path\n"
        "from uhost.config.board import load_board\nfrom uhost.runners.renode import RUNNER\n"
        "from uhost.toolchain._toolchain import Image\n"
        f"image = Image(Path({str(stand_in.image.elf)!r}), 'zig', 0, 0, 0, {{}})\n"
        "print('starting', flush=True)\n"
        f"line = RUNNER.start(image, load_board({BOARD.name!r}))\n"
        "print('started', flush=True)\n"
    )
    return subprocess.Popen([sys.executable, "-c", code + then], stdout=subprocess.PIPE, text=True)


def test_renode_ends_with_a_program_that_forgets_it(stand_in: StandIn) -> None:
    process = program(stand_in, "")
    assert process.communicate(timeout=30)[0] == "starting\nstarted\n"
    stand_in.assert_nothing_is_left()


def test_renode_ends_on_an_interrupt_while_it_is_used(stand_in: StandIn) -> None:
    process = program(stand_in, "line.read(1, 60.0)\n")
    assert process.stdout
    assert [process.stdout.readline() for _ in range(2)] == ["starting\n", "started\n"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    stand_in.assert_nothing_is_left()


def test_renode_ends_on_an_interrupt_while_it_starts(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RENODE_DOES", "hang")
    process = program(stand_in, "")
    deadline = time.monotonic() + 30
    while not (stand_in.record.is_file() and stand_in.record.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    stand_in.assert_nothing_is_left()


def test_renode_ends_with_a_program_that_is_killed(stand_in: StandIn) -> None:
    """The Monitor's input ends, and Renode with it."""
    process = program(stand_in, "line.read(1, 60.0)\n")
    assert process.stdout
    assert [process.stdout.readline() for _ in range(2)] == ["starting\n", "started\n"]
    process.kill()
    process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not is_running(stand_in.pids()[0]):
            return
        time.sleep(0.02)
    pytest.fail("Renode goes on")


# ---- From a model to its numbers --------------------------------------------------------------


@pytest.mark.needs("qemu", "arm_gcc")
def test_model_is_verified_over_the_line(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The board's own image, executed by QEMU in Renode's place."""
    folder = tmp_path / "out"
    qemu = tmp_path / "qemu"
    arguments = shlex.join(
        qemu_command(Image(folder / "firmware.elf", "", 0, 0, 0, {}), load_board("netduinoplus2"))
    )
    qemu.write_text(f"#!/bin/sh\nexec qemu-system-arm {arguments}\n")
    qemu.chmod(0o755)
    monkeypatch.setenv("RENODE_FIRMWARE", str(qemu))
    uhost = (sys.executable, "-m", "uhost")
    subprocess.run(
        (*uhost, "build", "--board", "netduinoplus2", "-o", str(folder)), check=True, timeout=120
    )
    done = subprocess.run(
        (*uhost, "verify", str(folder), "--on", "renode", "--json"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert (result["runner"], result["exact"], result["instructions"]) == ("renode", True, None)
    assert f"include @{folder}/renode/uhost.resc" in stand_in.argv()
    stand_in.assert_nothing_is_left()
