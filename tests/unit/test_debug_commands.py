"""GDB servers: their commands, GDB's, and what is said when one is missing or fails."""

from __future__ import annotations

import dataclasses
import os
import socket
import time
from pathlib import Path

import pytest

from uhost.config.board import Board, Qemu, load_board
from uhost.errors import ConfigError, RunnerError, ToolNotFoundError
from uhost.runners import _gdb
from uhost.runners._gdb import (
    SERVERS,
    DebuggedBoard,
    DebugLine,
    choose_server,
    find_gdb,
    gdb_arguments,
    is_taken,
    openocd_command,
    pyocd_command,
    qemu_command,
)
from uhost.toolchain._toolchain import Image

IMAGE = Image(Path("/build/firmware.elf"), "zig", 0, 0, 0, {})
LINE = DebugLine(3333, 4444)
DISCO = load_board("stm32f746g_disco")
MPS2 = load_board("mps2_an500")


def test_qemu() -> None:
    assert qemu_command(IMAGE, MPS2, LINE) == (
        *("-machine", "mps2-an500", "-display", "none", "-monitor", "none", "-no-reboot"),
        *("-S", "-gdb", "tcp:127.0.0.1:3333"),
        "-chardev",
        "socket,id=console,host=127.0.0.1,port=4444,server=on,wait=off",
        *("-serial", "chardev:console", "-kernel", "/build/firmware.elf"),
    )
    board = dataclasses.replace(MPS2, qemu=Qemu("virt", 2, ("-bios", "none")))
    assert qemu_command(IMAGE, board, LINE)[:4] == ("-machine", "virt", "-bios", "none")
    assert qemu_command(IMAGE, board, LINE)[-8:-2] == (
        *("-serial", "null", "-serial", "null", "-serial", "chardev:console"),
    )


def test_openocd() -> None:
    assert openocd_command(IMAGE, DISCO, DebugLine(3333, probe="066CFF")) == (
        *("-f", "interface/stlink.cfg", "-f", "target/stm32f7x.cfg"),
        *("-c", "adapter serial {066CFF}"),
        *("-c", "bindto 127.0.0.1", "-c", "gdb_port 3333"),
        *("-c", "tcl_port disabled", "-c", "telnet_port disabled"),
        *("-c", "init", "-c", "reset halt"),
    )


def test_pyocd() -> None:
    assert pyocd_command(IMAGE, DISCO, DebugLine(3334, probe="066CFF")) == (
        *("gdbserver", "--no-wait", "--uid", "066CFF", "--target", "stm32f746nghx"),
        *("--port", "3334", "--connect", "halt", "--elf", "/build/firmware.elf"),
    )


def test_gdb() -> None:
    connect = ("/build/firmware.elf", "-ex", "target remote 127.0.0.1:3333")
    assert gdb_arguments(IMAGE, SERVERS["qemu"], LINE, load=False) == connect
    assert gdb_arguments(IMAGE, SERVERS["qemu"], LINE, load=True) == connect
    assert gdb_arguments(IMAGE, SERVERS["openocd"], LINE, load=False) == connect
    assert gdb_arguments(IMAGE, SERVERS["openocd"], LINE, load=True) == (
        *connect,
        *("-ex", "monitor reset halt", "-ex", "load", "-ex", "monitor reset halt"),
    )


# ---- Choice -----------------------------------------------------------------------------------


def test_first_server_that_reaches_the_board() -> None:
    assert choose_server(MPS2, None).name == "qemu"
    assert choose_server(DISCO, None).name == "openocd"
    assert choose_server(dataclasses.replace(DISCO, openocd=()), None).name == "pyocd"
    assert choose_server(DISCO, "pyocd").name == "pyocd"


@pytest.mark.parametrize(
    ("board", "name", "message"),
    [
        (
            DISCO,
            "qemu",
            "'qemu' cannot debug the board 'stm32f746g_disco': QEMU has no machine for the board",
        ),
        (
            MPS2,
            "openocd",
            "'openocd' cannot debug the board 'mps2_an500': the board file has no 'openocd:'",
        ),
        (MPS2, "jlink", "there is no GDB server 'jlink'"),
        (load_board("host"), None, "no GDB server reaches the board 'host'"),
    ],
)
def test_no_server(board: Board, name: str | None, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        choose_server(board, name)
    assert caught.value.what == message
    assert caught.value.fix


def test_gdbs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("UHOST_GDB", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolNotFoundError) as caught:
        find_gdb(DISCO)
    assert str(caught.value) == (
        "'gdb-multiarch' is not on PATH\n  where: PATH\n  fix:   install it with "
        "`apt-get install gdb-multiarch`, or set UHOST_GDB to its path"
    )
    for name in ("arm-none-eabi-gdb", "gdb-multiarch"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert find_gdb(DISCO) == str(tmp_path / name)
    monkeypatch.setenv("UHOST_GDB", "/nowhere/gdb")
    with pytest.raises(ToolNotFoundError) as caught:
        find_gdb(DISCO)
    assert caught.value.what.startswith("the variable UHOST_GDB points nowhere")


# ---- The server -------------------------------------------------------------------------------


def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> DebuggedBoard:
    """Starts a stand-in for OpenOCD."""
    script = tmp_path / "openocd"
    script.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\n{does}\n")
    script.chmod(0o755)
    monkeypatch.setenv("UHOST_OPENOCD", str(script))
    line = DebugLine(_gdb.free_port())
    return DebuggedBoard(SERVERS["openocd"], IMAGE, DISCO, line, ready_s=1.0)


def is_running(tmp_path: Path) -> bool:
    try:
        os.kill(int((tmp_path / "pid").read_text()), 0)
    except ProcessLookupError:
        return False
    return True


def test_server_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UHOST_OPENOCD", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolNotFoundError) as caught:
        DebuggedBoard(SERVERS["openocd"], IMAGE, DISCO, LINE, 1.0)
    assert caught.value.what == "'openocd' is not on PATH"
    assert caught.value.where.startswith(
        "PATH; the command would be: openocd -f interface/stlink.cfg -f target/stm32f7x.cfg -c"
    )


def test_server_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(RunnerError) as caught:
        serve(tmp_path, monkeypatch, 'echo "Error: open failed"; exit 1')
    assert caught.value.what == "'openocd' ended with exit code 1"
    assert caught.value.where == "Error: open failed"
    assert "by hand: " in caught.value.fix


def test_server_never_listens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_gdb, "_PATIENCE_S", 0.2)
    with pytest.raises(RunnerError) as caught:
        serve(tmp_path, monkeypatch, "trap '' TERM; while :; do sleep 0.1; done")
    assert caught.value.what == "'openocd' did not listen for GDB within 1 s"
    assert caught.value.where == "it said nothing"
    assert not is_running(tmp_path)


def test_port_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert is_taken(port)
        monkeypatch.setattr(_gdb, "free_port", lambda: port)
        with pytest.raises(ConfigError) as caught:
            serve(tmp_path, monkeypatch, "exit 1")
    assert caught.value.what == f"the port {port} is taken by another program"
    assert caught.value.where == "--gdb-port"
    assert not is_taken(port)


def test_server_ends_with_its_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_gdb, "is_taken", lambda port: (tmp_path / "child").is_file())
    debugged = serve(
        tmp_path,
        monkeypatch,
        f"sleep 100 &\necho $! >{tmp_path}/part\nmv {tmp_path}/part {tmp_path}/child\nwait",
    )
    child = int((tmp_path / "child").read_text())
    debugged.close()
    assert not is_running(tmp_path)
    deadline = time.monotonic() + 5
    stat = Path(f"/proc/{child}/stat")
    while stat.exists() and ") Z" not in stat.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    debugged.close()
