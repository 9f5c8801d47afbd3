"""Flashing through an emulated STM32 ROM loader, then RPC with what was flashed, on one port."""

from __future__ import annotations

import threading
import time
from functools import cache
from typing import Any

import pytest
import serial
from serial_bridge import carry
from stm32_bootloader_emulator import COMMANDS, Faults, Stm32BootloaderEmulator

from uhost import driver
from uhost.config.board import Board
from uhost.errors import ConfigError
from uhost.flash._flasher import Flashed, FlashError, FlashRequest, Wiring
from uhost.flash._line import LoaderLine
from uhost.flash.stm32_an3155 import FLASHER
from uhost.resources import bundled_model
from uhost.runners.unicorn import UnicornTransport
from uhost.runtime.compiled import Built
from uhost.runtime.device import device
from uhost.runtime.evaluation import measure
from uhost.runtime.samples import random_sample
from uhost.toolchain._elf import read_program
from uhost.toolchain._toolchain import Image

BOARD = "stm32f746g_disco"

pytestmark = pytest.mark.xdist_group("flash_stm32")


@cache
def built() -> Built:
    """Returns the firmware of the bundled model."""
    return driver.link(driver.compile_models(driver.load(bundled_model()), BOARD), "zig")


def board_and_image() -> tuple[Board, Image]:
    return built().compiled.board, built().image


def emulator(**options: Any) -> Stm32BootloaderEmulator:
    board, _ = board_and_image()
    flash = board.region(board.flash)
    return Stm32BootloaderEmulator(flash.start, flash.sectors_bytes, **options)


def boot(terminal: int, flash: bytes, stop: threading.Event) -> None:
    """Executes what is in the emulated flash, in Unicorn, on the same serial line."""
    board, image = board_and_image()
    simulated = UnicornTransport(image, board)
    simulated._cpu.engine.mem_write(board.region(board.flash).start, flash)
    try:
        carry(terminal, simulated, stop, bytes_per_second=11520)
    finally:
        simulated.close()


def flash(port: str, **options: Any) -> Flashed:
    board, image = board_and_image()
    request = FlashRequest(port, **options)
    return FLASHER.flash(image, board, request, lambda phase, done, total: None)


def image_bytes() -> bytes:
    return read_program(board_and_image()[1].elf).flat()


def holds_the_image(chip: Stm32BootloaderEmulator) -> bool:
    content = image_bytes()
    return chip.content(chip.start, len(content)) == content


def check_over(port: str) -> None:
    """Runs the model layer by layer over the port, and compares with the reference."""
    graph = built().compiled.models[0].lowered.graph
    result = measure(built(), device(BOARD, port=port), [random_sample(graph)], layers=True)
    assert result.runner == "serial"
    assert result.exact
    assert len(result.comparisons) > 5


def test_flash_verify_go_then_rpc_on_the_same_port() -> None:
    phases: list[tuple[str, int, int]] = []
    board, image = board_and_image()
    with emulator(boot=boot) as chip:
        before = chip.content(chip.start, len(chip.flash))
        done = FLASHER.flash(
            image, board, FlashRequest(chip.port), lambda *told: phases.append(told)
        )
        assert chip.started_at == 0x08000000
        assert holds_the_image(chip)
        check_over(chip.port)
        used = sum(chip.sectors_bytes[sector] for sector in chip.erased)
        assert chip.content(chip.start + used, 1 << 19) == before[used : used + (1 << 19)]
    blocks = -(-len(image_bytes()) // 256)
    assert done == Flashed(
        port=chip.port,
        loader="STM32 ROM loader 3.1, chip id 0x449",
        written_bytes=256 * blocks,
        erased_bytes=32768 * len(chip.erased),
        verified=True,
        started=True,
    )
    assert [phase for phase, done, total in phases if done == total] == [
        "erasing",
        "writing",
        "verifying",
    ]
    assert len(phases) == len(chip.erased) + 1 + 2 * (blocks + 1)


def test_no_verify_and_no_start() -> None:
    with emulator() as chip:
        done = flash(chip.port, verify=False, start=False)
        assert not done.verified
        assert not done.started
        assert chip.started_at is None
        assert holds_the_image(chip)


def test_wired_lines_start_the_loader_and_the_firmware(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a reset, not by GO: the firmware finds the chip as after power-up."""
    driven: list[tuple[str, bool, bool]] = []

    def drive(line: LoaderLine, *, reset: bool, boot: bool) -> None:
        driven.append((chip.last_command, reset, boot))

    monkeypatch.setattr(LoaderLine, "_drive", drive)
    with emulator() as chip:
        done = flash(chip.port, wiring=Wiring("dtr", "!rts"))
        assert done.started
        assert holds_the_image(chip)
        assert chip.started_at is None
        assert chip.last_command == "READ MEMORY"
    assert driven == [
        *(("", False, True), ("", True, True), ("", False, True)),
        *(("READ MEMORY", reset, False) for reset in (False, True, False)),
    ]


def test_a_loader_that_has_the_old_erase_command_alone() -> None:
    with emulator(commands=(*(c for c in COMMANDS if c != 0x44), 0x43)) as chip:
        flash(chip.port)
        assert chip.erased == [0]
        assert holds_the_image(chip)


@pytest.mark.parametrize(
    ("faults", "seed"),
    [
        (Faults(lose_in=0.0001), 1),
        (Faults(lose_out=0.0001), 1),
        (Faults(flip_out=0.0003), 1),
        (Faults(refuse=0.03), 1),
        (Faults(lose_in=0.00005, lose_out=0.00005, flip_out=0.0001, refuse=0.01), 2),
        (Faults(lose_in=0.00005, lose_out=0.00005, flip_out=0.0001, refuse=0.01), 3),
    ],
    ids=["lost to the loader", "lost from it", "flipped", "refused", "all", "all again"],
)
def test_a_bad_line_costs_time_and_nothing_else(faults: Faults, seed: int) -> None:
    with emulator(faults=faults, seed=seed) as chip:
        done = flash(chip.port)
        assert done.repeated > 0
        assert holds_the_image(chip)
        assert chip.started_at == 0x08000000


def failure(chip: Stm32BootloaderEmulator, limit_s: float) -> FlashError:
    started_s = time.monotonic()
    with pytest.raises(FlashError) as caught:
        flash(chip.port)
    assert time.monotonic() - started_s < limit_s
    assert caught.value.where.startswith(f"{chip.port}, after ")
    return caught.value


ENTER = "BOOT0 high at reset; USART1 on PA9 and PA10, or USART3 on PC10 and PC11"
AGAIN = f"start the loader again ({ENTER}), then flash again: it begins anew"


def second_try(chip: Stm32BootloaderEmulator) -> None:
    """The same chip, after a reset into its loader on a sound line: its flash as it was left."""
    with emulator() as again:
        again.flash[:] = chip.flash
        flash(again.port)
        assert holds_the_image(again)
        assert again.started_at == 0x08000000


def test_unplugging_while_writing() -> None:
    with emulator(faults=Faults(unplug_after=3000)) as chip:
        error = failure(chip, 5)
        assert error.what.startswith("flashing failed while writing: the serial port failed: ")
        total = 256 * -(-len(image_bytes()) // 256)
        state = error.where.partition("state of the board: ")[2]
        assert state.endswith(f" of {total:,} bytes are written: it has no working firmware")
        assert 0 < int(state.split()[0].replace(",", "")) < 3000
        assert error.fix == f"plug it in again; {AGAIN}"
        second_try(chip)


def test_unplugging_before_anything_was_changed() -> None:
    with emulator(faults=Faults(unplug_after=3)) as chip:
        before = bytes(chip.flash)
        error = failure(chip, 5)
        assert error.what.startswith("flashing failed while asking the loader: the serial port")
        assert error.where.endswith("state of the board: nothing was changed")
        assert bytes(chip.flash) == before
        second_try(chip)


def test_a_line_that_goes_dead_while_verifying() -> None:
    writing = 257 + 9 + 2  # bytes per block
    blocks = -(-len(image_bytes()) // 256)
    with emulator(faults=Faults(dead_after=20 + writing * blocks)) as chip:
        error = failure(chip, 15)
        assert error.what == "flashing failed while reading back: the loader has stopped answering"
        assert error.where.endswith(
            "state of the board: all bytes are written, not all read back; the firmware does not "
            "run"
        )
        assert error.fix == AGAIN
        second_try(chip)


def test_a_line_without_parity() -> None:
    with emulator(faults=Faults(odd_parity_only=True)) as chip:
        before = bytes(chip.flash)
        error = failure(chip, 15)
        assert error.what == (
            "flashing failed while asking the loader: the loader has stopped answering"
        )
        assert error.where.endswith("state of the board: nothing was changed")
        assert error.fix == f"check that the line carries even parity (8E1); {AGAIN}"
        assert bytes(chip.flash) == before
        second_try(chip)


def test_a_line_too_bad_to_go_on() -> None:
    with emulator(faults=Faults(refuse=0.4)) as chip:
        error = failure(chip, 60)
        assert "the loader refuses" in error.what or "40 commands had to be repeated" in error.what
        second_try(chip)


def test_a_protected_chip() -> None:
    with emulator(faults=Faults(protected=True)) as chip:
        before = bytes(chip.flash)
        error = failure(chip, 15)
        assert error.what == (
            "flashing failed while erasing: the loader refuses EXTENDED ERASE (the chip may be "
            "protected against reading, which stops its loader too)"
        )
        assert bytes(chip.flash) == before


def test_no_loader_at_all() -> None:
    with emulator(faults=Faults(lose_in=1.0)) as chip:
        error = failure(chip, 15)
        assert error.what == (
            "flashing failed while looking for the loader: no ROM loader answers: nothing came"
        )
        assert error.where.endswith("state of the board: nothing was changed")


def test_another_chip() -> None:
    with emulator(chip_id=0x413) as chip:
        before = bytes(chip.flash)
        with pytest.raises(ConfigError) as caught:
            flash(chip.port)
        assert caught.value.what == (
            f"the chip on the port is another than that of '{BOARD}': its id is 0x413, not 0x449"
        )
        assert caught.value.where == f"{chip.port}: nothing was changed"
        assert bytes(chip.flash) == before


@pytest.mark.parametrize("stop_after", [4, 30, 200, 285, 288, 900])
def test_a_loader_that_was_left_amid_a_command_is_found_again(stop_after: int) -> None:
    """Ctrl-C at any place: the loader still waits for the rest, and there was no reset."""
    with emulator(faults=Faults(unplug_after=stop_after)) as other:
        with pytest.raises(FlashError):
            flash(other.port)
        begun = bytes(other.received)
    with emulator() as chip:
        with serial.Serial(chip.port, 115200) as port:
            port.write(begun)  # the answers are not waited for
            time.sleep(0.1)
        assert bytes(chip.received) == begun
        flash(chip.port)
        assert holds_the_image(chip)


def test_a_port_that_is_not_there() -> None:
    with pytest.raises(FlashError) as caught:
        flash("/dev/uhost-none")
    assert caught.value.what.startswith(
        "flashing failed while looking for the loader: the serial port cannot be opened: "
    )
    with pytest.raises(ConfigError, match="no serial port given"):
        flash("")
