"""Instruction counts in QEMU: those of Unicorn for the same program, or a reason for none."""

from __future__ import annotations

from pathlib import Path

import pytest
import simulated_firmware as firmware
from simulated_firmware import INPUT, TIMEOUT_S, WORK

from uhost import driver, resources
from uhost.config.board import Board
from uhost.errors import ConfigError
from uhost.rpc.session import Session
from uhost.runners import _qemu_counter
from uhost.runners._qemu_counter import counter_for
from uhost.runners._runner import CountsInstructions, RunCounts
from uhost.runners.qemu import PROGRAM, QemuTransport
from uhost.runners.qemu import RUNNER as QEMU
from uhost.runners.unicorn import RUNNER as UNICORN
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain._toolchain import Image

pytestmark = [pytest.mark.needs("qemu"), pytest.mark.xdist_group("qemu_runner")]


def counted(model: Path, board: str, toolchain: str) -> list[RunCounts | None]:
    """Returns the counts of one inference in both simulators, of one and the same program."""
    built = driver.link(driver.compile_models(driver.load(model), board), toolchain)
    sample = random_sample(built.compiled.models[0].lowered.graph, 1)
    found = []
    for runner in ("unicorn", "qemu"):
        with start(built, device(board, runner)) as executor:
            for index, value in sample.inputs.items():
                executor.set_input(index, value)
            executor.watch()
            executor.run()
            found.append(executor.counts())
    return found


@pytest.mark.parametrize("board", ["mps2_an500", "netduinoplus2"])
@pytest.mark.parametrize("toolchain", ["arm_gcc", "zig"])
def test_qemu_counts_as_unicorn_does(board: str, toolchain: str) -> None:
    in_unicorn, in_qemu = counted(resources.bundled_model(), board, toolchain)
    assert in_qemu is not None
    assert in_qemu.total == sum(in_qemu.calls) > 10_000
    assert in_qemu == in_unicorn


@pytest.mark.parametrize("board", ["mps2_an500", "netduinoplus2"])
def test_kws_counts_as_in_unicorn(shared_models: Path, board: str) -> None:
    in_unicorn, in_qemu = counted(shared_models / "mlperf_kws_int8.tflite", board, "arm_gcc")
    assert in_qemu is not None
    assert len(in_qemu.calls) > 10
    assert in_qemu == in_unicorn


def test_watches_and_runs_follow_one_another() -> None:
    board, image = firmware.firmware("mps2_an500", "zig")
    seen = []
    for runner in (UNICORN, QEMU):
        line = runner.start(image, board)
        assert isinstance(line, CountsInstructions)
        with pytest.raises(ConfigError) as caught:
            line.watch("work_ru")
        assert caught.value.what == "the image has no function 'work_ru' to count"
        assert line.counts() is None
        session = Session(line)
        session.handshake()
        session.write_input(WORK, 0, INPUT)
        line.watch("work_run")
        assert line.counts() is None
        session.run(WORK, TIMEOUT_S)
        first = line.counts()
        session.run(WORK, TIMEOUT_S)
        second = line.counts()
        line.watch("main")
        assert line.counts() is None, "main never returns"
        line.watch("work_run")
        session.run(WORK, TIMEOUT_S)
        assert first == second == line.counts()
        seen.append(first)
        session.close()
        line.close()
    assert seen[0] == seen[1]
    assert seen[0] is not None


def an500() -> tuple[Board, Image, str]:
    board, image = firmware.firmware("mps2_an500", "zig")
    return board, image, PROGRAM.find()


def test_the_plugin_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, image, program = an500()
    monkeypatch.setenv("UHOST_CACHE", str(tmp_path))
    first, reason = counter_for(program, image)
    assert reason == ""
    assert first is not None
    first.close()
    made = sorted(path.suffix for path in (tmp_path / "qemu_counter").iterdir())
    assert made == [".api", ".so", ".so"], "one asks for the version, one counts"

    def missing() -> object:
        raise AssertionError("built again")

    monkeypatch.setattr(_qemu_counter, "compilers", missing)
    second, _ = counter_for(program, image)
    assert second is not None
    assert second.options[1].partition(",")[0] == first.options[1].partition(",")[0]
    state = Path(second.options[1].partition("state=")[2])
    assert state.exists()
    second.close()
    assert not state.exists()


def test_without_a_compiler_there_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, image, program = an500()
    monkeypatch.setenv("UHOST_CACHE", str(tmp_path))
    monkeypatch.setattr(_qemu_counter, "compilers", lambda: iter(()))
    assert counter_for(program, image) == (
        None,
        "the plugin that counts cannot be compiled: no compiler is there",
    )


def test_an_unknown_api_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    _, image, program = an500()
    monkeypatch.setattr(_qemu_counter, "_api", lambda _: 99)
    assert counter_for(program, image) == (
        None,
        "QEMU's plugins have API version 99, which is not known",
    )


def test_a_qemu_without_plugins_is_a_reason(tmp_path: Path) -> None:
    _, image, _ = an500()
    program = tmp_path / "qemu"
    program.write_text("#!/bin/sh\necho '-plugin: invalid option' >&2\nexit 1\n")
    program.chmod(0o755)
    assert counter_for(str(program), image) == (
        None,
        "this QEMU has no plugins: -plugin: invalid option",
    )


def test_a_run_without_a_counter_counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    board, image, _ = an500()
    monkeypatch.setattr(_qemu_counter, "_api", lambda _: 99)
    line = QEMU.start(image, board)
    assert isinstance(line, QemuTransport)
    session = Session(line)
    session.handshake()
    line.watch("work_run")
    session.write_input(WORK, 0, INPUT)
    session.run(WORK, TIMEOUT_S)
    assert line.counts() is None
    assert line.why_uncounted == "QEMU's plugins have API version 99, which is not known"
    session.close()
    line.close()
