"""Boot blocks: what the ROMs of three chips look for in flash before they start an image."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
from unicorn import (
    UC_ARCH_ARM,
    UC_HOOK_CODE,
    UC_MODE_THUMB,
    Uc,
    arm_const,
)

from uhost.codegen._boot import crc32_mpeg2, words16
from uhost.codegen.artifact import Artifact
from uhost.codegen.firmware import firmware_files
from uhost.config.board import load_board
from uhost.toolchain._elf import read_program
from uhost.toolchain._toolchain import TOOLCHAINS

MAIN = b"""#include "hal.h"
void uhost_rpc_report_fault(const struct uhost_fault *fault) { (void)fault; }
int main(void) { uhost_hal_init(); return 0; }
"""


def boot_text(board: str) -> str:
    return firmware_files(load_board(board))["firmware/boot.c"].decode()


def words(text: str) -> list[int]:
    body = text[text.index("{") :]
    return [int(word, 16) for word in re.findall(r"0x([0-9A-F]{8})u", body)]


def built(board_name: str, folder: Path) -> bytes:
    """Returns the image of an empty program, from the first byte of flash."""
    board = load_board(board_name)
    files = {p: c for p, c in firmware_files(board).items() if "/rpc/" not in p}
    TOOLCHAINS["zig"].build(Artifact(files | {"main.c": MAIN}), board, folder)
    assert read_program(folder / "firmware.elf").pieces[0].address == board.region("flash").start
    return (folder / "firmware.bin").read_bytes()


def test_the_checksum_is_the_published_one() -> None:
    """CRC-32/MPEG-2 of the digits 1 to 8 (check value by the catalogue's algorithm) and of none."""
    assert crc32_mpeg2([], 0) == 0xFFFFFFFF
    assert crc32_mpeg2(struct.unpack("<2I", b"12345678"), 9) != crc32_mpeg2([0x34333231], 9)
    nine = [*struct.unpack("<2I", b"12345678"), ord("9")]
    whole = crc32_mpeg2(nine, 12)
    crc = 0x0376E6E7  # the check value, of nine digits; three zero bytes follow them here
    for _ in range(24):
        crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    assert whole == crc


def test_halfwords_become_words() -> None:
    assert words16([0x1122, 0x3344, 0x5566, 0x7788]) == [0x33441122, 0x77885566]


# ---- RP2040 -----------------------------------------------------------------------------------


@pytest.mark.needs("arm_gcc")
def test_the_second_stage_is_what_its_listing_says(tmp_path: Path) -> None:
    text = boot_text("rpi_pico")
    listing = [
        line.partition(";")[0].strip(" *")
        for line in text.partition("*/")[0].splitlines()
        if line.startswith(" *     ")
    ]
    assert len(listing) == 21
    source = ".syntax unified\n.cpu cortex-m0plus\n.thumb\n.balign 4\n" + "\n".join(listing)
    (tmp_path / "boot.s").write_text(source + "\n")
    for command in (
        ("arm-none-eabi-as", "boot.s", "-o", "boot.o"),
        ("arm-none-eabi-objcopy", "-O", "binary", "boot.o", "boot.bin"),
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    code = (tmp_path / "boot.bin").read_bytes()
    printed = words(text)
    assert struct.pack(f"<{len(code) // 4}I", *printed[: len(code) // 4]) == code
    assert printed[11:-1] == [
        0x18000000,
        0x001F0300,
        0x03000218,
        0x180000F4,
        0x10000100,
        0xE000ED08,
    ]


def test_the_second_stage_opens_the_flash_and_starts_the_image(tmp_path: Path) -> None:
    """Runs it from RAM, as the ROM does, with the flash controller's registers as memory."""
    image = built("rpi_pico", tmp_path)
    assert crc32_mpeg2(struct.unpack("<63I", image[:252]), 252) == int.from_bytes(
        image[252:256], "little"
    )
    stack, reset = struct.unpack("<2I", image[256:264])
    engine = Uc(UC_ARCH_ARM, UC_MODE_THUMB, arm_const.UC_CPU_ARM_CORTEX_M0)
    for start, size in ((0x10000000, 0x10000), (0x20000000, 0x42000)):
        engine.mem_map(start, size)
    for start in (0x18000000, 0xE000E000):
        engine.mem_map(start, 0x1000)
    engine.mem_write(0x10000000, image)
    engine.mem_write(0x20041F00, image[:256])
    order: list[int] = []
    engine.hook_add(UC_HOOK_CODE, lambda _uc, address, _size, _: order.append(address))
    engine.emu_start(0x20041F01, reset & ~1, count=100)
    assert engine.reg_read(arm_const.UC_ARM_REG_PC) == reset & ~1
    assert engine.reg_read(arm_const.UC_ARM_REG_MSP) == stack
    assert order[-1] == 0x20041F28, "left by its last instruction"
    registers = {
        offset: int.from_bytes(engine.mem_read(0x18000000 + offset, 4), "little")
        for offset in (0x00, 0x04, 0x08, 0x14, 0xF4)
    }
    assert registers == {0x00: 0x001F0300, 0x04: 0, 0x08: 1, 0x14: 4, 0xF4: 0x03000218}
    assert int.from_bytes(engine.mem_read(0xE000ED08, 4), "little") == 0x10000100


# ---- RP2350 and i.MX RT -----------------------------------------------------------------------


def test_the_image_definition_lies_behind_the_vector_table(tmp_path: Path) -> None:
    image = built("rpi_pico2", tmp_path)
    block = struct.pack("<5I", 0xFFFFDED3, 0x10210142, 0x000001FF, 0, 0xAB123579)
    board = load_board("rpi_pico2")
    assert image.find(block) == 4 * board.vector_count
    assert 4 * board.vector_count + len(block) <= 4096


def test_the_boot_header_of_the_imxrt_leads_to_the_vector_table(tmp_path: Path) -> None:
    image = built("mimxrt1050_evk", tmp_path)

    def word(offset: int) -> int:
        return int.from_bytes(image[offset : offset + 4], "little")

    assert image[:4] == b"FCFB"
    assert [word(offset) for offset in (0x80, 0x84, 0x88)] == [0x8B1887A0, 0xB3068F10, 0xA704]
    assert word(0x1000) == 0x412000D1
    assert word(0x1004) == 0x60002000
    assert word(0x1014) == 0x60001000, "itself"
    assert word(word(0x1010) - 0x60000000) == 0x60000000
    stack, reset = word(0x2000), word(0x2004)
    assert 0x20200000 < stack < 0x20240000
    assert reset & 1
    assert 0x60002000 < reset < 0x60000000 + len(image)
