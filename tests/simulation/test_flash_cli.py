"""The verbs on a serial port: flash an emulated chip, then run, verify and bench over the port."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from serial_bridge import SerialBridge, carry
from stm32_bootloader_emulator import Faults, Stm32BootloaderEmulator

from uhost import driver
from uhost.resources import bundled_model, cache_folder
from uhost.rpc.session import SERIAL, Session
from uhost.runners._runner import RUNNERS
from uhost.runners.unicorn import UnicornTransport
from uhost.runtime import build_folder
from uhost.runtime.compiled import Built

BOARD = "netduinoplus2"  # its loader listens on the console's pins

pytestmark = pytest.mark.xdist_group("flash_cli")


@cache
def build(board: str = BOARD, toolchain: str = "zig") -> Built:
    """Returns the firmware of the bundled model, in a folder as `uhost build` leaves it."""
    compiled = driver.compile_models(driver.load(bundled_model()), board)
    built = driver.link(compiled, toolchain, cache_folder() / f"serial-{board}")
    build_folder.write(built)
    return built


def uhost(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "uhost", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **variables},
    )


def results(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["results"]


def boot(terminal: int, flash: bytes, stop: threading.Event) -> None:
    """Executes what is in the emulated flash, in Unicorn, on the same serial line."""
    board = build().compiled.board
    simulated = UnicornTransport(build().image, board)
    simulated._cpu.engine.mem_write(board.region(board.flash).start, flash)
    try:
        carry(terminal, simulated, stop, bytes_per_second=11520)
    finally:
        simulated.close()


def emulator(faults: Faults | None = None) -> Stm32BootloaderEmulator:
    board = build().compiled.board
    flash = board.region(board.flash)
    return Stm32BootloaderEmulator(
        flash.start,
        flash.sectors_bytes or (16384,) * (flash.size_bytes // 16384),
        chip_id=0x413,
        faults=faults,
        boot=boot,
    )


def test_flash_then_run_verify_and_bench_over_one_port() -> None:
    folder = build().folder
    with emulator() as chip:
        (flashed,) = results(uhost("flash", folder, "--port", chip.port, "--json"))
        assert list(flashed) == documented("flash")
        assert flashed["board"] == BOARD
        assert flashed["digest"] == build().compiled.digest
        assert flashed["loader"] == "STM32 ROM loader 3.1, chip id 0x413"
        assert flashed["verified"]
        assert flashed["started"]
        (ran,) = results(uhost("run", folder, "--on", "serial", "--port", chip.port, "--json"))
        assert ran["runner"] == "serial"
        assert ran["exact"]
        assert ran["instructions"] is None
        (verified,) = results(uhost("verify", folder, "--on", chip.port, "--json"))
        assert verified["exact"]
        assert len(verified["comparisons"]) > 5
        assert documented("ports") == ["device", "description", "usb_id", "serial_number", "boards"]
        (bench,) = results(uhost("bench", folder, "--on", "serial", "--json", UHOST_PORT=chip.port))
        assert bench["runner"] == "serial"


def test_what_flashing_tells_people() -> None:
    with emulator() as chip:
        done = uhost("flash", build().folder, "--port", chip.port)
        assert done.returncode == 0, done.stderr
        first, loader, then = done.stdout.splitlines()
        assert first.startswith(f"Flashed {BOARD} in ")
        assert first.endswith(" bytes, read back, started")
        assert loader == "  by     STM32 ROM loader 3.1, chip id 0x413"
        assert then == (
            f"Talk to it: uhost run {build().folder} --board {BOARD} --on serial --port {chip.port}"
        )


def documented(verb: str) -> list[str]:
    """Returns the fields that docs/json.md lists for a verb."""
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text()
    section = text.split(f"## `{verb}`\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", section, flags=re.M)


def test_a_bar_for_people_who_watch() -> None:
    terminal, stderr = os.openpty()
    with emulator() as chip:
        done = subprocess.run(
            [sys.executable, "-m", "uhost", "flash", str(build().folder), "--port", chip.port],
            stdout=subprocess.PIPE,
            stderr=stderr,
            check=True,
            timeout=120,
        )
    os.close(stderr)
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while more := os.read(terminal, 65536):
            shown += more
    os.close(terminal)
    for phase in (b"erasing", b"writing", b"verifying"):
        assert phase in shown
        assert phase not in done.stdout


def test_a_failure_has_a_code_and_says_the_state() -> None:
    with emulator(Faults(unplug_after=2000)) as chip:
        done = uhost("flash", build().folder, "--port", chip.port)
        assert done.returncode == 6
        assert "error: flashing failed while writing: the serial port failed" in done.stderr
        assert "bytes are written: it has no working firmware" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--port", "/dev/x", "--reset-line", "cts"), "error: 'cts' is no line of a serial port"),
        ((), "error: no serial port given"),
        (("--on", "unicorn"), "error: the runner 'unicorn' does not flash"),
    ],
)
def test_a_mistake_has_a_message(arguments: tuple[str, ...], message: str) -> None:
    done = uhost("flash", build().folder, *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_pico_takes_the_image_as_uf2(tmp_path: Path) -> None:
    (tmp_path / "INFO_UF2.TXT").write_text("UF2 Bootloader v3.0\nModel: Raspberry Pi RP2\n")
    built = build("rpi_pico")
    (flashed,) = results(uhost("flash", built.folder, "--port", tmp_path, "--json"))
    assert (flashed["loader"], flashed["verified"]) == ("UF2 Bootloader v3.0", False)
    content = (tmp_path / "FIRMWARE.UF2").read_bytes()
    blocks = [content[at : at + 512] for at in range(0, len(content), 512)]
    stored = b"".join(block[32:288] for block in blocks)
    image = built.image.elf.with_suffix(".bin").read_bytes()
    assert stored[: len(image)] == image
    assert not stored[len(image) :].strip(b"\xff")
    assert len(stored) % 4096 == 0
    assert {block[28:32] for block in blocks} == {(0xE48BFF56).to_bytes(4, "little")}
    assert blocks[0][12:16] == (0x10000000).to_bytes(4, "little")
    assert flashed["written_bytes"] == len(stored)


def test_a_board_without_a_loader() -> None:
    done = uhost("flash", "--board", "mps2_an500", "--toolchain", "zig")
    assert done.returncode == 2
    assert "error: 'mps2_an500' has no ROM loader that uhost knows" in done.stderr


def test_a_board_that_runs_another_build() -> None:
    built = build()
    with SerialBridge(UnicornTransport(built.image, built.compiled.board)) as line:
        done = uhost("run", "--board", BOARD, "--toolchain", "zig", "--port", line.port,
                     "--c-prefix", "other")  # fmt: skip
        assert done.returncode == 6
        assert "error: the device runs another build than this one" in done.stderr
        assert "fix:   put this build on the board" in done.stderr


@pytest.mark.needs("host_cc")
def test_the_host_firmware_on_an_emulated_line_of_115200_baud() -> None:
    built = build("host", "host_cc")
    device = RUNNERS["host"].start(built.image, built.compiled.board)
    from uhost.transport.serial import SerialTransport

    content = bytes(range(256)) * 2
    with SerialBridge(device) as line:
        transport = SerialTransport(line.port, 115200)
        transport.open()
        with Session(transport, timing=SERIAL) as session:
            assert session.handshake().board == "host"
            session.write(0, 0, content)
            assert session.read(0, 0, len(content)) == content
        assert line.failure is None
