"""The Unicorn runner and its line to the device, with the hand-written program."""

from __future__ import annotations

import dataclasses
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest
from simulated_program import ROUTINES, board, image

from uhost.config.board import load_board
from uhost.errors import ConfigError, DeadlineError, DeviceFault, TransportError
from uhost.runners._runner import RUNNERS, CountsInstructions
from uhost.runners._unicorn_memory import write_words
from uhost.runners.unicorn import RUNNER, UnicornTransport


def start(routine: str) -> UnicornTransport:
    line = RUNNER.start(image(), board())
    choice = image().symbols["choice"].address
    write_words(line._cpu.engine, choice, (ROUTINES.index(routine),))
    return line


def test_runner_is_registered() -> None:
    assert RUNNERS["unicorn"] is RUNNER
    assert RUNNER.name == "unicorn"


@pytest.mark.parametrize(
    "name", ["stm32f746", "stm32f746g_disco", "nucleo_f746zg", "mps2_an500", "netduinoplus2"]
)
def test_supports(name: str) -> None:
    assert RUNNER.supports(load_board(name)) == ""


def test_does_not_support_the_host() -> None:
    assert RUNNER.supports(load_board("host")) == (
        "it simulates microcontrollers; the board has no console and no memory"
    )
    with pytest.raises(ConfigError) as caught:
        RUNNER.start(image(), load_board("host"))
    assert caught.value.what.startswith("the runner 'unicorn' does not run 'host': it simulates")
    assert caught.value.fix == "choose another runner with --on"


def test_does_not_support_helium_other_cores_and_other_uarts() -> None:
    target = board().target
    helium = dataclasses.replace(target, cpu="cortex-m55", features=("mve",))
    assert RUNNER.supports(dataclasses.replace(board(), target=helium)) == (
        "Unicorn does not know the instructions of Helium (MVE)"
    )
    other = dataclasses.replace(target, cpu="cortex-m1")
    assert RUNNER.supports(dataclasses.replace(board(), target=other)) == (
        "Unicorn has no cortex-m1; it has cortex-m0, cortex-m0plus, cortex-m3, cortex-m4, "
        "cortex-m7, cortex-m33, cortex-m33+nodsp"
    )
    console = board().console
    assert console is not None
    other_uart = dataclasses.replace(console, kind="ns16550")
    assert RUNNER.supports(dataclasses.replace(board(), console=other_uart)) == (
        "it has no model of the UART kind 'ns16550'; it has "
        "stm32_usart_v1, stm32_usart_v3, stm32_lpuart, cmsdk_apb_uart, pl011, nxp_lpuart, "
        "nrf_uart, nrf_uarte"
    )


def test_reads_what_the_device_sends() -> None:
    line = start("echo")
    line.open()
    line.write(b"A", 1)
    assert line.read(10, 5) == b"B"
    line.write(b"B", 1)
    assert line.read(10, 5) == b"C"
    line.close()


def test_read_takes_no_more_than_asked() -> None:
    line = start("echo")
    line._cpu.wire.outgoing.extend(b"xyz")
    assert line.read(2, 5) == b"xy"
    assert line.read(2, 5) == b"z"
    line.close()


def test_a_sleeping_device_is_not_waited_for() -> None:
    line = start("echo")
    before = time.monotonic()
    for _ in range(2):
        with pytest.raises(DeadlineError) as caught:
            line.read(1, 60)
    assert time.monotonic() - before < 30
    assert caught.value.what == "the device sleeps and has sent nothing"
    assert caught.value.where.startswith("mps2_an500 in Unicorn, in echo+0x")
    assert caught.value.fix == "only a request that it understands wakes it"
    line.close()


def test_an_endless_loop_meets_the_deadline_and_can_be_closed() -> None:
    line = start("endless")
    with pytest.raises(DeadlineError) as caught:
        line.read(1, 0.1)
    assert caught.value.what == "the device sent nothing within 0.1 s, and is still computing"
    assert caught.value.where == "mps2_an500 in Unicorn"
    assert caught.value.fix == "allow more time, or look for an endless loop"
    with pytest.raises(DeadlineError) as busy:
        line.watch("echo")
    assert busy.value.what == (
        "the device is still computing: its calls cannot be counted from here on"
    )
    line.close()
    line.close()
    assert line._stopped.is_set()
    for thread in threading.enumerate():
        if thread.name == "uhost-unicorn":
            thread.join(5)
            assert not thread.is_alive()


def test_a_dropped_line_ends_its_thread() -> None:
    line = start("endless")
    with pytest.raises(DeadlineError):
        line.read(1, 0.05)
    stopped = line._stopped
    assert not stopped.is_set()
    gone = weakref.ref(line)
    del line
    gc.collect()
    assert gone() is None
    assert stopped.wait(1)


def test_an_interpreter_that_ends_ends_the_run(tmp_path: Path) -> None:
    script = tmp_path / "forgets.py"
    script.write_text(
        "from simulated_program import board, image\n"
        "from uhost.errors import DeadlineError\n"
        "from test_unicorn_line import start\n"
        "line = start('endless')\n"
        "try:\n"
        "    line.read(1, 0.05)\n"
        "except DeadlineError as error:\n"
        "    print(error.what)\n"
    )
    here = Path(__file__).resolve().parent
    done = subprocess.run(
        [sys.executable, "-X", "dev", str(script)],
        env={**os.environ, "PYTHONPATH": f"{here}:{here.parent}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert done.stdout == ("the device sent nothing within 0.05 s, and is still computing\n")
    assert done.stderr == ""


@pytest.mark.parametrize("signals", [1, 3])
def test_ctrl_c_ends_the_run_and_nothing_else(tmp_path: Path, signals: int) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(
        "import os, signal, sys, threading, time\n"
        "from test_unicorn_line import start\n"
        "def interrupt():\n"
        f"    for _ in range({signals}):\n"
        "        time.sleep(0.2)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "line = start('endless')\n"
        "interrupter = threading.Thread(target=interrupt)\n"
        "interrupter.start()\n"
        f"for _ in range({signals}):\n"
        "    try:\n"
        "        line.read(1, 60)\n"
        "    except KeyboardInterrupt:\n"
        "        pass\n"
        "interrupter.join()\n"
        "line.close()\n"
        "time.sleep(0.2)\n"
        "assert len(sys._current_frames()) == 1, 'it executes on'\n"
        "sys.exit(130)\n"
    )
    here = Path(__file__).resolve().parent
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(script)],
        env={**os.environ, "PYTHONPATH": f"{here}:{here.parent}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, "")


def test_closed_line() -> None:
    line = start("echo")
    line.close()
    for use in (lambda: line.read(1, 1), lambda: line.write(b"", 1), line.open):
        with pytest.raises(TransportError) as caught:
            use()
        assert caught.value.what == "the line is closed"
        assert caught.value.fix == "start the image again"


def test_crash_is_raised_on_every_read() -> None:
    line = start("no_stack")
    for _ in range(2):
        with pytest.raises(DeviceFault, match="accessed 0x1ffffff4"):
            line.read(1, 5)
    line.close()


def test_report_of_the_firmware_comes_before_that_of_the_simulator() -> None:
    line = start("undefined")
    assert line.read(10, 5) == b"F"
    with pytest.raises(DeviceFault, match="undefined instruction"):
        line.read(1, 5)
    line.close()


def test_silent_crash_is_no_deadline() -> None:
    line = start("silent_fault")
    with pytest.raises(DeviceFault) as caught:
        line.read(1, 5)
    assert caught.value.fix.endswith("since its fault handler did not report it")
    line.close()


def test_counts_calls() -> None:
    line = start("counts")
    assert isinstance(line, CountsInstructions)
    assert line.counts() is None
    line.watch("watched")
    line.write(b"!", 1)
    assert line.read(1, 5) == b"."
    counts = line.counts()
    assert counts is not None
    assert counts.total == sum(counts.calls) == 2009
    line.watch("looped")
    assert line.counts() is None
    line.write(b"!", 1)
    line.read(1, 5)
    again = line.counts()
    assert again is not None
    assert again.total == 303
    line.close()


def test_watching_what_is_not_there() -> None:
    line = start("counts")
    with pytest.raises(ConfigError) as caught:
        line.watch("watchd")
    assert caught.value.what == "the image has no function 'watchd' to count"
    assert caught.value.fix == "did you mean 'watched'?"
    with pytest.raises(ConfigError) as data:
        line.watch("zzz")
    assert data.value.fix == "name a function of the image"
    line.close()


def test_runs_are_the_same_every_time() -> None:
    seen = set()
    for _ in range(3):
        line = start("counts")
        line.watch("watched")
        line.write(b"!!!", 1)
        seen.add((line.read(10, 5), line.counts()))
        line.close()
    assert len(seen) == 1
