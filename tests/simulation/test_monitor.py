"""`uhost monitor`: the log lines of the real firmware, over a pseudo-terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
import rpc_firmware

from uhost.cli.monitor import entries
from uhost.errors import DeviceFault
from uhost.rpc import messages as m
from uhost.rpc.framing import Frame, encode_frame
from uhost.transport.memory import MemoryTransport, Responder

TROUBLE, LOGS, CRASHES = 1, 1, 2


def request(message: m.Message, sequence: int) -> bytes:
    return encode_frame(Frame(message.CODE, 1, sequence, m.encode(message)))


@contextlib.contextmanager
def board(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Yields the port of the firmware and its process; requests go to its input."""
    firmware = subprocess.Popen(
        [rpc_firmware.build(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    board_end, host_end = pty.openpty()
    tty.setraw(host_end)

    def pump() -> None:
        assert firmware.stdout
        with contextlib.suppress(OSError):
            while sent := os.read(firmware.stdout.fileno(), 4096):
                os.write(board_end, sent)

    thread = threading.Thread(target=pump)
    thread.start()
    try:
        yield os.ttyname(host_end), firmware
    finally:
        firmware.kill()
        thread.join()
        firmware.communicate()
        os.close(board_end)
        os.close(host_end)


def monitor(port: str, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        (sys.executable, "-m", "uhost", "monitor", "--port", port, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(firmware: subprocess.Popen[bytes], *operators: int) -> None:
    assert firmware.stdin
    firmware.stdin.write(request(m.HelloRequest(), 1))
    for sequence, operator in enumerate(operators, start=2):
        firmware.stdin.write(request(m.OperatorRequest(TROUBLE, operator), sequence))
    firmware.stdin.flush()


def await_listening(process: subprocess.Popen[str]) -> None:
    """The line that says so comes once the port is open."""
    assert process.stderr
    line = process.stderr.readline()
    assert line.startswith("Listening on /dev/"), line


@pytest.mark.needs("host_cc")
def test_log_lines_until_an_interrupt(tmp_path: Path) -> None:
    with board(tmp_path) as (port, firmware):
        process = monitor(port)
        await_listening(process)
        ask(firmware, LOGS, LOGS)
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 0
    assert [line.partition(" ")[2] for line in lines] == ["one line\n"] * 2
    assert out == ""


@pytest.mark.needs("host_cc")
def test_crash_report_ends_it(tmp_path: Path) -> None:
    with board(tmp_path) as (port, firmware):
        process = monitor(port)
        await_listening(process)
        ask(firmware, LOGS, CRASHES)
        out, errors = process.communicate(timeout=30)
    assert process.returncode == 6
    assert out.endswith(" one line\n")
    assert errors.startswith("error: the firmware crashed: BusFault")
    assert "pc 0x08000204" in errors


@pytest.mark.needs("host_cc")
def test_json_and_a_limit(tmp_path: Path) -> None:
    with board(tmp_path) as (port, firmware):
        process = monitor(port, "--json", "--for", "3")
        timer = threading.Timer(1.5, ask, (firmware, LOGS))
        timer.start()
        out, errors = process.communicate(timeout=30)
        timer.join()
    assert process.returncode == 0
    assert [json.loads(line) for line in out.splitlines()] == [{"log": "one line"}]
    assert errors == ""


def test_what_is_not_a_log_line_is_passed_over() -> None:
    log = encode_frame(Frame(m.LogNotice.CODE, 0, 0, "µ".encode() + b"\xff"))
    answer = encode_frame(Frame(0x85, 1, 2, b"data"))
    line = MemoryTransport(Responder(lambda data: b"noise" + answer + log[:3] + log))
    line.open()
    line.write(b"", 1.0)
    assert list(entries(line, hex, 0.05, threading.Event())) == ["µ\ufffd"]


def test_a_crash_is_the_last_entry() -> None:
    fault = m.FaultNotice(5, *range(1, 14))
    frames = b"".join(
        encode_frame(Frame(code, 0, 0, payload))
        for code, payload in ((m.FaultNotice.CODE, m.encode(fault)), (m.LogNotice.CODE, b"late"))
    )
    line = MemoryTransport(Responder(lambda data: frames))
    line.open()
    line.write(b"", 1.0)
    (entry,) = entries(line, "function at {:#x}".format, 5.0, threading.Event())
    assert isinstance(entry, DeviceFault)
    assert "function at 0x6" in entry.where


def test_no_port() -> None:
    process = subprocess.run(
        (sys.executable, "-m", "uhost", "monitor"), capture_output=True, text=True, check=False
    )
    assert process.returncode == 2
    assert process.stderr == "error: no port given\n  fix:   add --port; `uhost ports` lists them\n"


def test_loop_url_and_port_that_is_not_there() -> None:
    done = monitor("loop://", "--for", "0.1")
    _, errors = done.communicate(timeout=30)
    assert (done.returncode, errors) == (0, "Listening on loop://; Ctrl-C ends it.\n")
    done = monitor("/dev/none")
    _, errors = done.communicate(timeout=30)
    assert done.returncode == 6
    assert errors.startswith("error: the serial port cannot be opened: ")
