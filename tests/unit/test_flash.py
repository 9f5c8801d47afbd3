"""Flashing: what is erased and written, control lines, UF2 files, and the loader's wire format."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from uhost.config.board import Board, Bootloader, load_board
from uhost.config.board import Region as FlashRegion
from uhost.errors import ConfigError, TransportError
from uhost.flash import _line, uf2
from uhost.flash._an3155 import LoaderDescription, LoaderError, RefusedError, RomLoader
from uhost.flash._flasher import FLASHERS, FlashError, FlashRequest, Wiring, cut
from uhost.flash._line import LoaderLine
from uhost.flash.stm32_an3155 import Erasure, plan_erasure
from uhost.toolchain._elf import Piece

KIB = 1024
FLASH = FlashRegion("flash", 0x08000000, 256 * KIB, "flash", (), (32 * KIB,) * 4 + (128 * KIB,))


def test_pieces_are_cut_into_blocks() -> None:
    blocks = cut([Piece(0x101, b"abc"), Piece(0x1FE, b"xyz")], 0x100)
    assert list(blocks) == [0x100, 0x200]
    assert blocks[0x100] == b"\xffabc".ljust(0xFE, b"\xff") + b"xy"
    assert blocks[0x200] == b"z".ljust(0x100, b"\xff")


def test_only_sectors_in_use_are_erased() -> None:
    def planned(*addresses: int) -> list[int | None]:
        return [e.sector for e in plan_erasure(dict.fromkeys(addresses, b""), FLASH)]

    assert planned(0x08000000) == [0]
    assert planned(0x08000000, 0x08007F00) == [0]
    assert planned(0x08000000, 0x08008000, 0x08020000) == [0, 1, 4]
    whole = replace(FLASH, sectors_bytes=())
    assert plan_erasure({0x08000000: b""}, whole) == (Erasure(None, 256 * KIB),)


def test_the_time_to_erase_grows_with_the_sector() -> None:
    assert Erasure(0, 32 * KIB).timeout_s == pytest.approx(3.28)
    assert Erasure(None, 1024 * KIB).timeout_s == pytest.approx(42.96)


@pytest.mark.parametrize("address", [0x07FFFF00, 0x08040000, 0x90000000])
def test_bytes_outside_the_flash_are_refused(address: int) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_erasure({address: b""}, FLASH)
    assert str(caught.value) == (
        f"the image has bytes at 0x{address:08x}, outside the flash\n"
        "  where: region 'flash', 0x08000000 to 0x0803ffff\n"
        "  fix:   the ROM loader writes the chip's own flash alone; use a debug probe"
    )


def test_the_loaders() -> None:
    assert FLASHERS.names() == ("stm32_an3155", "uf2")
    assert [flasher.name for flasher in FLASHERS] == ["stm32_an3155", "uf2"]


# ---- Control lines -----------------------------------------------------------------------


class RecordedPort:
    """A serial port that writes down what its lines do; `sent` is what goes to the host."""

    def __init__(self, **_: object) -> None:
        object.__setattr__(self, "log", [])
        object.__setattr__(self, "sent", b"")

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("dtr", "rts"):
            self.log.append(f"{name} {'on' if value else 'off'}")
        object.__setattr__(self, name, value)

    log: list[str]
    sent: bytes

    def open(self) -> None:
        self.log.append("open")

    def close(self) -> None:
        self.log.append("close")

    def write(self, data: bytes) -> None:
        self.log.append(data.hex(" "))

    def read(self, size: int) -> bytes:
        taken, self.sent = self.sent[:size], self.sent[size:]
        return taken


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> RecordedPort:
    made = RecordedPort()
    monkeypatch.setattr(_line.serial, "serial_for_url", lambda url, **options: made)  # type: ignore[attr-defined]
    monkeypatch.setattr(_line.time, "sleep", lambda seconds: made.log.append(f"wait {seconds:g}"))  # type: ignore[attr-defined]
    return made


def test_the_loader_is_entered_with_the_boot_pin_set(port: RecordedPort) -> None:
    line = LoaderLine("/dev/x", 115200, Wiring("dtr", "!rts"))
    assert port.log == ["dtr off", "rts on", "open"]  # not in reset, and BOOT0 low
    port.log.clear()
    line.reset(into_loader=True)
    assert port.log == [
        *("dtr off", "rts off"),  # BOOT0 high first
        *("dtr on", "rts off", "wait 0.05"),
        *("dtr off", "rts off", "wait 0.2"),
    ]
    port.log.clear()
    line.reset(into_loader=False)
    assert port.log[:2] == ["dtr off", "rts on"]
    assert port.log[-3:] == ["dtr off", "rts on", "wait 0.2"]


def test_lines_that_are_not_wired_are_left_alone(port: RecordedPort) -> None:
    line = LoaderLine("/dev/x", 115200, Wiring())
    line.reset(into_loader=True)
    assert port.log == ["open"]
    assert not line.can_reset
    port.log.clear()
    line = LoaderLine("/dev/x", 115200, Wiring(boot="rts"))
    line.reset(into_loader=True)
    assert port.log == ["rts off", "open", "rts on"]


@pytest.mark.parametrize(
    ("reset", "boot", "message"),
    [
        ("dtx", "", "'dtx' is no line of a serial port"),
        ("", "!", "'!' is no line of a serial port"),
        ("dtr", "!dtr", "reset and boot pin cannot share the line 'dtr'"),
    ],
)
def test_wiring_that_cannot_be(reset: str, boot: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Wiring(reset, boot)
    assert caught.value.what == message


def test_a_port_without_control_lines(port: RecordedPort, monkeypatch: pytest.MonkeyPatch) -> None:
    line = LoaderLine("/dev/x", 115200, Wiring("dtr"))

    def refuse(self: RecordedPort, name: str, value: object) -> None:
        raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")

    monkeypatch.setattr(RecordedPort, "__setattr__", refuse)
    with pytest.raises(TransportError) as caught:
        line.reset(into_loader=True)
    assert caught.value.what.startswith("the port cannot drive its control lines: [Errno 25]")
    assert caught.value.fix == "leave out the lines' options, and reset the board by hand"


# ---- The protocol's bytes, by AN3155 -----------------------------------------------------

KNOWN = LoaderDescription(0x31, frozenset({0x00, 0x44}), 0x449)
OLD = LoaderDescription(0x22, frozenset({0x00, 0x43}), 0x410)


@pytest.mark.parametrize(
    ("action", "answers", "sent"),
    [
        (lambda r: r.synchronize(), "79", ["7f"]),
        (lambda r: r.synchronize(), "1f", ["7f"]),
        (lambda r: r.go(0x08000000), "79 79", ["21 de", "08 00 00 00 08"]),
        (
            lambda r: r.write(0x08000104, b"\x01\x02\x03\x08"),
            "79 79 79",
            ["31 ce", "08 00 01 04 0d", "03 01 02 03 08 0b"],
        ),
        (
            lambda r: r.erase(KNOWN, [1, 258], 1.0),
            "79 79",
            ["44 bb", "00 01 00 01 01 02 03"],
        ),
        (lambda r: r.erase(KNOWN, None, 1.0), "79 79", ["44 bb", "ff ff 00"]),
        (lambda r: r.erase(OLD, [3], 1.0), "79 79", ["43 bc", "00 03 03"]),
        (lambda r: r.erase(OLD, None, 1.0), "79 79", ["43 bc", "ff 00"]),
    ],
)
def test_what_is_sent(
    port: RecordedPort, action: Callable[[RomLoader], None], answers: str, sent: list[str]
) -> None:
    loader = RomLoader(LoaderLine("/dev/x", 115200, Wiring()))
    port.sent = bytes.fromhex(answers)
    action(loader)
    assert port.log == ["open", *sent]


def test_what_is_read(port: RecordedPort) -> None:
    loader = RomLoader(LoaderLine("/dev/x", 115200, Wiring()))
    port.sent = bytes.fromhex("79 79 79 aa bb cc")
    assert loader.read(0x08000000, 3) == b"\xaa\xbb\xcc"
    assert port.log == ["open", "11 ee", "08 00 00 00 08", "02 fd"]
    port.sent = bytes.fromhex("79 03 31 00 02 44 79" + "79 01 04 49 79")
    description = loader.describe()
    assert description == LoaderDescription(0x31, frozenset({0x00, 0x02, 0x44}), 0x449)
    assert str(description) == "STM32 ROM loader 3.1, chip id 0x449"


@pytest.mark.parametrize(
    ("answers", "kind", "message"),
    [
        ("", LoaderError, "no answer to GO"),
        ("1f", RefusedError, "the loader refuses GO"),
        ("55", LoaderError, "the loader answers GO with 0x55"),
        ("79 1f", RefusedError, "the loader refuses GO to 0x08000000"),
    ],
)
def test_what_goes_wrong(
    port: RecordedPort, answers: str, kind: type[LoaderError], message: str
) -> None:
    loader = RomLoader(LoaderLine("/dev/x", 1_000_000, Wiring()))
    port.sent = bytes.fromhex(answers)
    with pytest.raises(kind) as caught:
        loader.go(0x08000000)
    assert caught.value.what == message


# ---- UF2 ---------------------------------------------------------------------------------


def test_a_uf2_block_by_the_specification() -> None:
    content = uf2.uf2([Piece(0x10000000, b"boot"), Piece(0x10001010, b"code")], 0xE48BFF56)
    blocks = [content[at : at + 512] for at in range(0, len(content), 512)]
    assert len(content) == 512 * 32  # two sectors of sixteen pages, whole
    heads = [struct.unpack("<8I", block[:32]) for block in blocks]
    assert heads[0] == (0x0A324655, 0x9E5D5157, 0x2000, 0x10000000, 256, 0, 32, 0xE48BFF56)
    assert [head[3] for head in heads] == [0x10000000 + 256 * n for n in range(32)]
    assert [head[5] for head in heads] == list(range(32))
    assert all(block[-4:] == struct.pack("<I", 0x0AB16F30) for block in blocks)
    assert blocks[0][32:288] == b"boot".ljust(256, b"\xff")
    assert blocks[1][32:288] == b"\xff" * 256
    assert blocks[16][32:288] == (b"\xff" * 16 + b"code").ljust(256, b"\xff")
    assert blocks[0][288:508] == bytes(220)


class FlatImage:
    """An image for the flasher: only its file is looked at."""

    elf = Path("firmware.elf")
    flash_bytes = 5000


class FlatProgram:
    pieces = (Piece(0x10000000, bytes(range(256)) * 20),)


@pytest.fixture
def pico(monkeypatch: pytest.MonkeyPatch) -> Board:
    monkeypatch.setattr(uf2, "read_program", lambda path: FlatProgram())
    bootloader = Bootloader("uf2", "BOOTSEL held at power-up", family_id=0xE48BFF56)
    return replace(load_board("stm32f746"), name="rpi_pico", bootloader=bootloader)


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    (tmp_path / "INFO_UF2.TXT").write_text("UF2 Bootloader v3.0\nModel: Raspberry Pi RP2\n")
    return tmp_path


def flash(board: Board, port: str, told: list[tuple[str, int, int]] | None = None) -> Any:
    def progress(*phase: Any) -> None:
        if told is not None:
            told.append(phase)

    return uf2.FLASHER.flash(FlatImage(), board, FlashRequest(port), progress)  # type: ignore[arg-type]


def test_a_uf2_file_is_copied_to_the_drive(pico: Board, drive: Path) -> None:
    told: list[tuple[str, int, int]] = []
    done = flash(pico, str(drive), told)
    assert (drive / "FIRMWARE.UF2").read_bytes() == uf2.uf2(FlatProgram.pieces, 0xE48BFF56)
    assert (done.loader, done.written_bytes, done.verified, done.started) == (
        *("UF2 Bootloader v3.0", 8192, False),
        True,
    )
    assert told == [("writing", 0, 16384), ("writing", 16384, 16384)]


def test_the_drive_is_found_among_the_mounts(
    pico: Board, drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaced = drive / "RPI RP2"
    spaced.mkdir()
    (spaced / "INFO_UF2.TXT").write_text("UF2\n")
    mounts = tmp_path / "mounts"
    escaped = str(spaced).replace(" ", "\\040")
    mounts.write_text(f"/dev/root / ext4 rw 0 0\n/dev/sda1 {escaped} vfat rw 0 0\n")
    assert uf2.drives(mounts) == [spaced]
    assert uf2.drives(tmp_path / "none") == []
    monkeypatch.setattr(uf2, "drives", lambda: [spaced])
    assert flash(pico, "").port == str(spaced)


def test_drives_that_are_none(pico: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError) as caught:
        flash(pico, str(tmp_path))
    assert str(caught.value) == (
        f"'{tmp_path}' is not the drive of a UF2 loader: it has no INFO_UF2.TXT\n"
        "  fix:   start the loader (BOOTSEL held at power-up), and give the folder its drive is "
        "mounted at"
    )
    monkeypatch.setattr(uf2, "drives", list)
    with pytest.raises(ConfigError, match="no drive is mounted"):
        flash(pico, "")
    monkeypatch.setattr(uf2, "drives", lambda: [Path("/a"), Path("/b")])
    with pytest.raises(ConfigError, match="2 drives of UF2 loaders are mounted") as caught:
        flash(pico, "")
    assert caught.value.where == "/a, /b"
    assert caught.value.fix == "choose one with --port"


def test_a_board_without_a_family(pico: Board, drive: Path) -> None:
    assert pico.bootloader is not None
    unknown = replace(pico, bootloader=replace(pico.bootloader, family_id=0))
    with pytest.raises(ConfigError, match="the chip's UF2 family is not known"):
        flash(unknown, str(drive))


def test_a_drive_that_is_full(pico: Board, drive: Path) -> None:
    (drive / "FIRMWARE.UF2").symlink_to("/dev/full")
    with pytest.raises(FlashError) as caught:
        flash(pico, str(drive))
    assert str(caught.value) == (
        "the drive took 0 of 16,384 bytes: No space left on device\n"
        f"  where: {drive}; state of the board: it has no working firmware, and its loader "
        "still works\n"
        "  fix:   unplug the board, start its loader again, and flash again"
    )


def test_a_drive_that_hangs(pico: Board, drive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    os.mkfifo(drive / "FIRMWARE.UF2")  # opening it waits for a reader
    monkeypatch.setattr(uf2, "COPY_S", 0.1)
    with pytest.raises(FlashError, match=r"took 0 of 16,384 bytes: it took over 0\.1 s"):
        flash(pico, str(drive))
    os.close(os.open(drive / "FIRMWARE.UF2", os.O_RDONLY | os.O_NONBLOCK))


def test_a_drive_that_leaves_with_the_last_block(
    pico: Board, drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("os.fsync", gone)
    assert flash(pico, str(drive)).started
