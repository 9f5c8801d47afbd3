"""The QEMU runner's command, its errors, and its end, with a stand-in for QEMU."""

from __future__ import annotations

import dataclasses
import gc
import os
import time
from pathlib import Path

import pytest

from uhost.config.board import Qemu, load_board
from uhost.errors import (
    ConfigError,
    DeadlineError,
    DeviceFault,
    RunnerError,
    ToolNotFoundError,
    TransportError,
)
from uhost.runners._runner import RUNNERS, CountsInstructions
from uhost.runners.qemu import RUNNER, QemuTransport, command
from uhost.toolchain._toolchain import Image, Symbol

IMAGE = Image(Path("/build/firmware.elf"), "zig", 0, 0, 0, {"conv_3": Symbol(0x08000540, 0x40)})


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script in place of QEMU; tests append what it does."""
    script = tmp_path / "qemu"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "QEMU 7.2.22" && exit\n')
    script.chmod(0o755)
    monkeypatch.setenv("UHOST_QEMU_ARM", str(script))
    return script


def start(stand_in: Path, does: str) -> QemuTransport:
    with stand_in.open("a") as script:
        script.write(does)
    return RUNNER.start(IMAGE, load_board("mps2_an500"))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_runner_is_registered() -> None:
    assert RUNNERS["qemu"] is RUNNER


def test_command() -> None:
    assert command(IMAGE, load_board("mps2_an500")) == (
        *("-machine", "mps2-an500", "-display", "none", "-monitor", "none", "-no-reboot"),
        *("-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"),
        *("-kernel", "/build/firmware.elf"),
    )


def test_command_skips_the_serial_ports_before_the_console() -> None:
    board = dataclasses.replace(load_board("netduinoplus2"), qemu=Qemu("netduinoplus2", 2))
    argv = command(IMAGE, board)
    assert argv[argv.index("-serial") :][:6] == (
        *("-serial", "null", "-serial", "null"),
        *("-serial", "chardev:console"),
    )


def test_supports() -> None:
    assert RUNNER.supports(load_board("mps2_an500")) == ""
    assert RUNNER.supports(load_board("netduinoplus2")) == ""
    for name in ("stm32f746g_disco", "host"):
        assert RUNNER.supports(load_board(name)) == "QEMU has no machine for the board"
    with pytest.raises(ConfigError) as caught:
        RUNNER.start(IMAGE, load_board("stm32f746g_disco"))
    assert caught.value.what == (
        "the runner 'qemu' does not run 'stm32f746g_disco': QEMU has no machine for the board"
    )
    assert caught.value.fix == "choose another runner with --on"


def test_program_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("UHOST_QEMU_ARM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolNotFoundError) as caught:
        RUNNER.locate()
    assert caught.value.what == "'qemu-system-arm' is not on PATH"
    assert caught.value.fix == (
        "install it with `apt-get install qemu-system-arm`, or set UHOST_QEMU_ARM to its path"
    )


def test_variable_points_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UHOST_QEMU_ARM", "/no/such/qemu")
    with pytest.raises(ToolNotFoundError) as caught:
        RUNNER.start(IMAGE, load_board("mps2_an500"))
    assert caught.value.what == (
        "the variable UHOST_QEMU_ARM points nowhere: '/no/such/qemu' is not an executable program"
    )


def test_locate(stand_in: Path) -> None:
    located = RUNNER.locate()
    assert located.argv == (str(stand_in),)
    assert located.version == "QEMU 7.2.22"


def test_bytes_pass_both_ways(stand_in: Path) -> None:
    line = start(stand_in, "exec cat\n")
    line.open()
    sent = bytes(range(256))
    line.write(sent, 5)
    got = b""
    while len(got) < len(sent):
        got += line.read(1000, 5)
    assert got == sent
    line.close()
    assert isinstance(line, CountsInstructions)
    line.watch("anything")
    assert line.counts() is None
    assert line.why_uncounted == "instructions are counted in images for Cortex-M alone"


def test_close_kills_and_is_repeatable(stand_in: Path) -> None:
    line = start(stand_in, "trap '' TERM INT HUP\nwhile :; do sleep 0.1; done\n")
    pid = line._process.pid
    with pytest.raises(DeadlineError):
        line.read(1, 0.05)
    before = time.monotonic()
    line.close()
    line.close()
    assert time.monotonic() - before < 2
    assert not is_running(pid)
    with pytest.raises(TransportError, match="the line is closed"):
        line.read(1, 1)


def test_a_dropped_line_ends_qemu(stand_in: Path) -> None:
    line = start(stand_in, "exec cat\n")
    pid = line._process.pid
    line._line.close()
    del line
    gc.collect()
    assert not is_running(pid)


def test_qemu_that_ends_at_once_says_why(stand_in: Path) -> None:
    line = start(stand_in, "echo 'unsupported machine type' >&2\nexit 1\n")
    with pytest.raises(RunnerError) as caught:
        line.read(1, 5)
    assert caught.value.what == "QEMU ended with exit code 1"
    assert caught.value.where == "mps2_an500 in QEMU: unsupported machine type"
    assert caught.value.fix.startswith(f"run it by hand: {stand_in} -machine mps2-an500 ")
    line.close()


def test_qemu_killed_by_a_signal(stand_in: Path) -> None:
    line = start(stand_in, "kill -SEGV $$\n")
    with pytest.raises(RunnerError) as caught:
        line.read(1, 5)
    assert caught.value.what == "QEMU ended with signal 11 (Segmentation fault)"
    assert caught.value.where == "mps2_an500 in QEMU: it said nothing"
    line.close()


LOCKUP = """cat >&2 <<'SAID'
qemu: fatal: Lockup: can't escalate 3 to HardFault (current priority -1)

R00=00000001 R01=00000005 R14=00000833 R15=08000550
XPSR=81000000 N--- T priv-thread
SAID
kill -ABRT $$
"""


def test_lockup_is_a_crash_of_the_firmware(stand_in: Path) -> None:
    line = start(stand_in, LOCKUP)
    with pytest.raises(DeviceFault) as caught:
        line.read(1, 5)
    assert caught.value.what == (
        "the firmware crashed: can't escalate 3 to HardFault (current priority -1)"
    )
    assert caught.value.where == (
        "pc 0x08000550 in conv_3+0x10, R00=00000001 R01=00000005 R14=00000833 R15=08000550 "
        "XPSR=81000000"
    )
    assert caught.value.fix == (
        "look at the function above; QEMU tells this, since the fault handler itself crashed"
    )
    line.close()


def test_program_that_is_no_program(tmp_path: Path) -> None:
    nothing = tmp_path / "qemu"
    nothing.write_bytes(b"\0\0\0\0")
    nothing.chmod(0o755)
    with pytest.raises(RunnerError) as caught:
        QemuTransport((str(nothing),), IMAGE, load_board("mps2_an500"))
    assert caught.value.what == "QEMU cannot be started: Exec format error"
    assert caught.value.fix == "install it again: apt-get install qemu-system-arm"
