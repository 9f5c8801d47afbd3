"""`uhost debug` with QEMU and GDB themselves: a model stops where the debugger says."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from uhost.rpc.session import Session
from uhost.runners._gdb import free_port
from uhost.transport.serial import SerialTransport

pytestmark = [pytest.mark.needs("qemu", "gdb", "arm_gcc"), pytest.mark.xdist_group("qemu_debug")]


@contextlib.contextmanager
def debugging(*options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Runs `uhost debug` on the bundled model and yields what it prints."""
    process = subprocess.Popen(
        (
            *(sys.executable, "-m", "uhost", "debug", "--board", "mps2_an500", "--on", "qemu"),
            *("--gdb-port", str(free_port()), "--toolchain", "arm_gcc", "--json", *options),
        ),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    printed = ""
    try:
        for line in process.stdout:
            printed += line
            with contextlib.suppress(json.JSONDecodeError):
                yield process, json.loads(printed)["results"][0]
                break
        else:
            pytest.fail(f"it printed only: {printed}")
    finally:
        process.terminate()  # killed, it could not end QEMU
        process.communicate(timeout=30)


def qemu_runs(record: dict[str, Any]) -> bool:
    """Returns whether a program runs with the server's arguments."""
    wanted = "\0".join(record["server"][1:]).encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if wanted in path.read_bytes():
                return True
    return False


def test_breakpoint_in_the_model() -> None:
    """GDB stops the model that a client runs over the console, and lets it finish."""
    with debugging() as (process, record):
        assert Path(record["gdb"][0]).name == "gdb-multiarch"
        orders = ("set pagination off", "break digits_run", "continue", "backtrace", "detach")
        gdb = subprocess.Popen(
            (*record["gdb"], "-batch", *(word for o in orders for word in ("-ex", o))),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        reports = []

        def drive() -> None:
            with Session(SerialTransport(record["console"], 115200)) as session:
                session._transport.open()
                session.handshake()
                reports.append(session.run(0, 60.0))

        client = threading.Thread(target=drive)
        client.start()
        said = gdb.communicate(timeout=90)[0]
        client.join(60)
        assert "Breakpoint 1, digits_run" in said, said
        frames = [line for line in said.splitlines() if line.startswith("#")]
        assert "digits_run" in frames[0]
        assert any(" in uhost_hal_call_measured " in frame for frame in frames), said
        assert len(reports) == 1, said
        process.send_signal(signal.SIGINT)
        process.wait(10)
        assert process.returncode == 0
        assert not qemu_runs(record)


def test_request_to_terminate_ends_the_server() -> None:
    with debugging() as (process, record):
        assert qemu_runs(record)
        process.terminate()
        process.wait(10)
        assert process.returncode == 128 + signal.SIGTERM
        assert not qemu_runs(record)


def test_start_runs_gdb_and_ends_the_server(tmp_path: Path) -> None:
    gdb = tmp_path / "gdb"
    gdb.write_text('#!/bin/sh\nexec gdb-multiarch -batch "$@" -ex "info registers pc" 1>&2\n')
    gdb.chmod(0o755)
    done = subprocess.run(
        (
            *(sys.executable, "-m", "uhost", "debug", "--board", "mps2_an500", "--start"),
            *("--gdb-port", str(free_port()), "--toolchain", "arm_gcc"),
        ),
        env={**os.environ, "UHOST_GDB": str(gdb)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "uhost_reset" in done.stderr
    first, talk = done.stdout.splitlines()
    assert first.startswith("qemu holds mps2_an500 for GDB on 127.0.0.1:")
    assert talk.startswith("Talk to it: uhost run --board mps2_an500 --on serial --port socket://")
