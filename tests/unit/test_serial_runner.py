"""Runners of real boards: arguments, fake programs, missing programs, ports, and a pty."""

from __future__ import annotations

import json
import os
import stat
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from uhost.config.board import Board, load_board
from uhost.errors import ConfigError, RunnerError, ToolNotFoundError, TransportError
from uhost.runners import _ports, _probe, jlink, openocd, pyocd, serial, stlink
from uhost.runners._ports import Port, boards_by_usb_id, find_port, ports
from uhost.runners._runner import RUNNERS, FlashingRunner, HardwareRunner
from uhost.runtime.device import Device, device
from uhost.toolchain._programs import MisdirectedVariableError
from uhost.toolchain._toolchain import Image

PROBES = ("openocd", "pyocd", "stlink", "jlink")
VARIABLES = {
    "openocd": "UHOST_OPENOCD",
    "pyocd": "UHOST_PYOCD",
    "stlink": "UHOST_ST_FLASH",
    "jlink": "UHOST_JLINK",
}
IMAGE = Image(Path("/b/firmware.elf"), "zig", 1000, 100, 500, {})


@pytest.fixture
def board() -> Board:
    return replace(
        load_board("stm32f746g_disco"),
        openocd=("interface/stlink.cfg", "target/stm32f7x.cfg"),
        pyocd="stm32f746nghx",
        stlink=True,
        jlink="STM32F746NG",
        usb=("0483:374b",),
    )


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*VARIABLES.values(), "UHOST_PORT"):
        monkeypatch.delenv(variable, raising=False)


# ---- Arguments ---------------------------------------------------------------------------


def test_the_arguments_of_openocd(board: Board) -> None:
    closed = ("-c", "gdb_port disabled", "-c", "tcl_port disabled", "-c", "telnet_port disabled")
    assert openocd.flash_command(IMAGE, board, "") == (
        *("-f", "interface/stlink.cfg", "-f", "target/stm32f7x.cfg"),
        *closed,
        *("-c", "program {/b/firmware.elf} verify reset exit"),
    )
    assert openocd.flash_command(IMAGE, board, "066AFF") == (
        *("-f", "interface/stlink.cfg", "-f", "target/stm32f7x.cfg"),
        *("-c", "adapter serial {066AFF}"),
        *closed,
        *("-c", "program {/b/firmware.elf} verify reset exit"),
    )
    assert openocd.word("/a $b [c]/d.elf") == "{/a $b [c]/d.elf}"
    with pytest.raises(ConfigError, match=r"OpenOCD cannot be given '/a\}/f\.elf'"):
        openocd.word("/a}/f.elf")


def test_the_arguments_of_pyocd(board: Board) -> None:
    assert pyocd.flash_command(IMAGE, board, "") == (
        *("flash", "--no-wait", "--target", "stm32f746nghx", "/b/firmware.elf"),
    )
    assert pyocd.flash_command(IMAGE, board, "066AFF") == (
        *("flash", "--no-wait", "--uid", "066AFF"),
        *("--target", "stm32f746nghx", "/b/firmware.elf"),
    )


def test_the_arguments_of_st_flash(board: Board) -> None:
    assert stlink.flash_command(IMAGE, board, "") == (
        *("--reset", "--format", "ihex", "write", "/b/firmware.hex"),
    )
    assert stlink.flash_command(IMAGE, board, "066AFF") == (
        *("--serial", "066AFF", "--reset", "--format", "ihex", "write", "/b/firmware.hex"),
    )


def test_the_arguments_of_jlink_and_its_commands(board: Board) -> None:
    connect = (
        *("-Device", "STM32F746NG", "-If", "SWD", "-Speed", "4000", "-AutoConnect", "1"),
        *("-NoGui", "1", "-ExitOnError", "1", "-CommandFile"),
    )
    assert jlink.flash_command(IMAGE, board, "") == connect
    assert jlink.flash_command(IMAGE, board, "683001") == ("-USB", "683001", *connect)
    assert jlink.commands(IMAGE) == 'LoadFile "/b/firmware.hex"\nr\ng\nexit\n'
    with pytest.raises(ConfigError, match="cannot be given"):
        jlink.commands(replace(IMAGE, elf=Path('/a"/f.elf')))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("openocd", "the board file has no 'openocd:'"),
        ("pyocd", "the board file has no 'pyocd:'"),
        ("stlink", "the board file has no 'stlink: true'"),
        ("jlink", "the board file has no 'jlink:'"),
    ],
)
def test_boards_that_a_probe_does_not_reach(name: str, reason: str, board: Board) -> None:
    assert RUNNERS[name].supports(board) == ""
    bare = replace(board, openocd=(), pyocd="", stlink=False, jlink="")
    assert RUNNERS[name].supports(bare) == reason
    assert RUNNERS[name].supports(load_board("host")) == "it flashes microcontrollers"
    with pytest.raises(ConfigError, match=f"the runner '{name}' does not reach"):
        RUNNERS[name].start(IMAGE, bare)


# ---- Programs ----------------------------------------------------------------------------


@dataclass
class Line:
    """A pseudo-terminal in place of the board's port."""

    port: str
    terminal: int


@pytest.fixture
def line() -> object:
    terminal, port = os.openpty()
    yield Line(os.ttyname(port), terminal)
    os.close(terminal)
    os.close(port)


def fake(folder: Path, text: str = "") -> Path:
    """Returns a program that writes down its arguments, and the file behind them if any."""
    path = folder / "program"
    record = folder / "record"
    path.write_text(
        "#!/bin/sh\n"
        f'for a in "$@"; do printf "%s\\n" "$a" >> {record}; last=$a; done\n'
        f'case "$last" in *commands.txt) cat "$last" >> {record}.file;; esac\n'
        f"{text}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_flashes_and_then_the_port_is_open(
    name: str, board: Board, line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[name], str(fake(tmp_path)))
    runner = RUNNERS[name]
    assert isinstance(runner, FlashingRunner)
    transport = runner.at(line.port, "066AFF").start(IMAGE, board)
    try:
        transport.write(b"hello\n", 1.0)
        assert os.read(line.terminal, 100) == b"hello\n"
        os.write(line.terminal, b"there\n")
        assert transport.read(1, 1.0) == b"t"
    finally:
        transport.close()
    recorded = (tmp_path / "record").read_text().splitlines()
    expected = runner.command(IMAGE, board, "066AFF")  # type: ignore[attr-defined]
    if name == "jlink":
        assert recorded[-1].endswith("/commands.txt")
        assert not Path(recorded.pop()).exists()
        assert (tmp_path / "record.file").read_text() == jlink.commands(IMAGE)
    assert tuple(recorded) == expected


@pytest.mark.parametrize("name", PROBES)
def test_a_program_that_fails(
    name: str, board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake(tmp_path, "echo Error: open failed >&2; exit 3")
    monkeypatch.setenv(VARIABLES[name], str(program))
    runner = RUNNERS[name]
    assert isinstance(runner, FlashingRunner)
    with pytest.raises(RunnerError) as caught:
        runner.flash(IMAGE, board)
    assert caught.value.what == (
        f"'{name}' failed with exit code 3: the board may hold no working firmware"
    )
    assert caught.value.where == "Error: open failed"
    assert caught.value.fix.startswith(
        f"check the probe's cable and the board's power; by hand: {program} "
    )


def test_a_program_that_hangs(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_probe, "FLASH_S", 0.3)
    monkeypatch.setenv("UHOST_OPENOCD", str(fake(tmp_path, "echo waiting; exec sleep 60")))
    started_s = time.monotonic()
    with pytest.raises(RunnerError) as caught:
        openocd.RUNNER.flash(IMAGE, board)  # type: ignore[attr-defined]
    assert time.monotonic() - started_s < 5
    assert caught.value.what == (
        "'openocd' did not end within 0.3 s, and was stopped: the board may hold no working "
        "firmware"
    )
    assert caught.value.where == "waiting"


@pytest.mark.parametrize("name", PROBES)
def test_a_program_that_is_missing(
    name: str, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    runner = RUNNERS[name]
    with pytest.raises(ToolNotFoundError) as caught:
        runner.start(IMAGE, board)
    program = {"stlink": "st-flash", "jlink": "JLinkExe"}.get(name, name)
    assert caught.value.what == f"'{program}' is not on PATH"
    assert caught.value.where.startswith(f"PATH; the command would be: {program} ")
    assert caught.value.fix.endswith(f", or set {VARIABLES[name]} to its path")
    monkeypatch.setenv(VARIABLES[name], "/nowhere/program")
    with pytest.raises(MisdirectedVariableError) as caught:
        runner.start(IMAGE, board)
    assert caught.value.what.startswith(f"the variable {VARIABLES[name]} points nowhere: ")


def test_nothing_is_flashed_before_the_port_is_open(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UHOST_OPENOCD", str(fake(tmp_path)))
    with pytest.raises(TransportError, match="the serial port cannot be opened"):
        openocd.RUNNER.at("/dev/uhost-none", "").start(IMAGE, board)
    assert not (tmp_path / "record").exists()


# ---- Ports -------------------------------------------------------------------------------

STLINK = Port("/dev/ttyACM0", "STM32 STLink", "0483:374b", "066AFF")
OTHER = Port("/dev/ttyACM1", "STM32 STLink", "0483:374b", "0670FF")
PLAIN = Port("/dev/ttyS0", "", "", "")


@dataclass
class Listed:
    """What pyserial says of a port."""

    device: str
    description: str | None
    vid: int | None
    pid: int | None
    serial_number: str | None


def test_ports_and_what_may_be_behind_them() -> None:
    found = [
        Listed("/dev/ttyS0", "n/a", None, None, None),
        Listed("/dev/ttyACM0", "STM32 STLink", 0x0483, 0x374B, "066AFF"),
    ]
    assert ports(found) == [STLINK, PLAIN]  # type: ignore[arg-type]
    assert "stm32f746g_disco" in boards_by_usb_id()["0483:374b"]


def test_the_port_of_a_board(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_port(board, "", "", [PLAIN, STLINK]) == "/dev/ttyACM0"
    assert find_port(board, "", "0670ff", [STLINK, OTHER]) == "/dev/ttyACM1"
    monkeypatch.setenv("UHOST_PORT", "/dev/x")
    assert find_port(board, "", "", [STLINK]) == "/dev/x"
    assert find_port(board, "/dev/y", "", [STLINK]) == "/dev/y"


def test_no_port_and_several(board: Board) -> None:
    with pytest.raises(ConfigError) as caught:
        find_port(board, "", "", [STLINK, OTHER])
    assert str(caught.value) == (
        "2 ports may be that of the board 'stm32f746g_disco'\n"
        "  where: /dev/ttyACM0 (serial number 066AFF), /dev/ttyACM1 (serial number 0670FF)\n"
        "  fix:   choose one with --port, or with --probe and its serial number"
    )
    with pytest.raises(ConfigError) as caught:
        find_port(board, "", "1234", [STLINK, PLAIN])
    assert str(caught.value) == (
        "no serial port of the board 'stm32f746g_disco' was found on the probe 1234\n"
        "  where: /dev/ttyACM0 (0483:374b), /dev/ttyS0 (no USB)\n"
        "  fix:   plug the board in, or give its port with --port or UHOST_PORT"
    )
    with pytest.raises(ConfigError) as caught:
        find_port(replace(board, usb=()), "", "", [])
    assert caught.value.where == "no serial port"
    assert caught.value.fix.startswith("its USB ids are not known: plug the board in")


# ---- Devices -----------------------------------------------------------------------------


def test_a_device_on_a_port() -> None:
    made = device("stm32f746", "serial", port="/dev/ttyACM0")
    assert (made.runner, made.port, made.probe) == ("serial", "/dev/ttyACM0", "")
    assert device("stm32f746", port="/dev/ttyACM0") == made
    assert device("stm32f746", "/dev/ttyACM0") == made
    assert device("stm32f746") == Device(load_board("stm32f746"), "unicorn")


def test_devices_that_have_no_port() -> None:
    with pytest.raises(ConfigError) as caught:
        device("stm32f746", "unicorn", port="/dev/x")
    assert caught.value.what == "the runner 'unicorn' has no port"
    assert caught.value.fix == (
        "leave out --port, or use --on jlink or --on openocd or --on pyocd or --on serial or "
        "--on stlink"
    )
    with pytest.raises(ConfigError, match="a probe alone does not say what for"):
        device("stm32f746", probe="066AFF")
    with pytest.raises(ConfigError, match="the runner 'serial' cannot run the board 'host'"):
        device("host", port="/dev/x")


def test_which_runners_reach_hardware() -> None:
    assert [r.name for r in RUNNERS if isinstance(r, HardwareRunner)] == [
        *("jlink", "openocd", "pyocd", "serial", "stlink"),
    ]
    assert not isinstance(serial.RUNNER, FlashingRunner)
    assert serial.RUNNER.supports(load_board("host")).startswith("it talks to microcontrollers")
    with pytest.raises(ConfigError, match="the runner 'serial' does not reach 'host'"):
        serial.RUNNER.start(IMAGE, load_board("host"))


def test_the_ports_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from uhost.cli import ports as verb

    monkeypatch.setattr(_ports, "ports", lambda: [STLINK, PLAIN])
    result = CliRunner().invoke(verb.COMMAND, ["--json"])
    rows = json.loads(result.output)["results"]
    assert [row["device"] for row in rows] == ["/dev/ttyACM0", "/dev/ttyS0"]
    fields = ["device", "description", "usb_id", "serial_number", "boards"]  # as docs/json.md has
    assert [list(row) for row in rows] == [fields, fields]
    assert rows[0]["usb_id"] == "0483:374b"
    assert "stm32f746g_disco" in rows[0]["boards"]
    assert rows[1]["boards"] == []
    assert "stm32f746g_disco" in CliRunner().invoke(verb.COMMAND, []).output
    monkeypatch.setattr(_ports, "ports", list)
    assert CliRunner().invoke(verb.COMMAND, []).output == "No serial port was found.\n"
