"""The firmware's generated files, against the golden ones; which files an image is made of.

After a change that is meant, write the golden files again:

    python tests/golden/test_firmware_files.py
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from uhost.codegen.firmware import firmware_files
from uhost.config.board import load_board

GOLDEN = Path(__file__).parent / "firmware"
BOARDS = (
    "microbit",
    "mimxrt1050_evk",
    "mps2_an500",
    "mps3_an547",
    "netduinoplus2",
    "nrf52840dk",
    "nucleo_f746zg",
    "qemu_riscv32",
    "rpi_pico",
    "rpi_pico2",
    "stm32f746g_disco",
)
GENERATED = ("board.c", "board.h", "boot.c", "memory.ld")


def generated(board: str) -> dict[str, bytes]:
    files = firmware_files(load_board(board))
    paths = {name: f"firmware/{name}" for name in GENERATED}
    return {name: files[path] for name, path in paths.items() if path in files}


@pytest.mark.parametrize("board", BOARDS)
def test_the_generated_files_are_the_golden_ones(board: str) -> None:
    files = generated(board)
    assert sorted(files) == sorted(path.name for path in (GOLDEN / board).iterdir())
    for name, content in files.items():
        assert content.decode() == (GOLDEN / board / name).read_text(), name


def test_a_chip_gives_the_files_of_its_board() -> None:
    assert firmware_files(load_board("stm32f746")) == firmware_files(load_board("stm32f746g_disco"))


@pytest.mark.parametrize("board", BOARDS)
def test_an_image_has_one_uart_driver_and_every_header_it_includes(board: str) -> None:
    loaded = load_board(board)
    assert loaded.console is not None
    files = firmware_files(loaded)
    drivers = [path for path in files if "/uart_" in path]
    assert drivers == [f"firmware/hal/uart_{loaded.console.kind}.c"]
    names = {path.rpartition("/")[2] for path in files} | {"model.h"}
    for path, content in files.items():
        if path.endswith((".c", ".h")):
            assert set(re.findall(rb'#include "(.*)"', content)) <= {n.encode() for n in names}
            system = set(re.findall(rb"#include <(.*)>", content))
            assert system <= {b"stdbool.h", b"stddef.h", b"stdint.h"}, path


def test_the_host_image_has_no_start_up_code() -> None:
    files = firmware_files(load_board("host"))
    assert "firmware/hal/host.c" in files
    assert "firmware/rpc/protocol.h" in files
    assert not [path for path in files if "startup" in path or path.endswith(".ld")]


def test_vector_tables_hold_the_console_interrupt_at_its_number() -> None:
    for name in BOARDS:
        board = load_board(name)
        assert board.console is not None
        if board.target.kind == "riscv":
            continue
        entries = re.findall(r"^    \{\.(?:stack|handler) = (\w+)\}", table(name), re.MULTILINE)
        assert len(entries) == board.vector_count
        assert entries[:2] == ["uhost_stack_top", "uhost_reset"]
        assert entries.index("uhost_console_interrupt") == 16 + board.console.irq


def table(board: str) -> str:
    return generated(board)["board.c"].decode()


if __name__ == "__main__":
    for written_board in BOARDS:
        for written_name, content in generated(written_board).items():
            path = GOLDEN / written_board / written_name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
