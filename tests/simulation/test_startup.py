"""Start-up and HAL in simulators, without a model: both compilers, every Cortex-M board."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from uhost.codegen.artifact import Artifact
from uhost.codegen.firmware import firmware_files
from uhost.config.board import Board, load_board
from uhost.errors import DeadlineError, OutOfMemoryError
from uhost.runners._runner import RUNNERS
from uhost.toolchain._elf import read_program
from uhost.toolchain._toolchain import TOOLCHAINS, Image
from uhost.transport._transport import Transport

MAIN = (Path(__file__).parent / "startup" / "main.c").read_bytes()
READ_TIMEOUT_S = 20.0
COMPILERS = [pytest.param("arm_gcc", marks=pytest.mark.needs("arm_gcc")), "zig"]
QEMU_BOARDS = ("mps2_an500", "netduinoplus2")
PLACES = [
    *((board, "unicorn") for board in ("stm32f746g_disco", "nucleo_f746zg", *QEMU_BOARDS)),
    *(pytest.param(board, "qemu", marks=pytest.mark.needs("qemu")) for board in QEMU_BOARDS),
]

pytestmark = pytest.mark.xdist_group("startup")


def artifact_for(board: Board) -> Artifact:
    files = firmware_files(board)
    return Artifact(
        {path: c for path, c in files.items() if "/rpc/" not in path} | {"main.c": MAIN}
    )


Builder = Callable[[str, str], tuple[Board, Image]]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Builds the image of a board with a toolchain, once."""
    images: dict[tuple[str, str], tuple[Board, Image]] = {}

    def build(board_name: str, toolchain: str) -> tuple[Board, Image]:
        key = (board_name, toolchain)
        if key not in images:
            board = load_board(board_name)
            folder = tmp_path_factory.mktemp(f"{board_name}-{toolchain}")
            image = TOOLCHAINS[toolchain].build(artifact_for(board), board, folder)
            images[key] = (board, image)
        return images[key]

    return build


@dataclass
class Device:
    line: Transport

    def ask(self, command: str) -> dict[str, int]:
        """Returns name → number of the line that answers `command`; repeated names in order."""
        return dict(self.pairs(command))

    def pairs(self, command: str) -> list[tuple[str, int]]:
        self.line.write(command.encode(), READ_TIMEOUT_S)
        return [(name, int(v, 16)) for name, v in re.findall(r"(\w+)=(\w{8})", self.read_line())]

    def read_line(self) -> str:
        text = b""
        while not text.endswith(b"\n"):
            text += self.line.read(4096, READ_TIMEOUT_S)
        return text.decode()


@contextmanager
def started(image: Image, board: Board, runner: str) -> Iterator[Device]:
    line = RUNNERS[runner].start(image, board)
    line.open()
    try:
        # QEMU's STM32 UART loses what comes before the firmware switched it on.
        device = Device(line)
        assert device.read_line() == "ready\n"
        yield device
    finally:
        line.close()


@pytest.mark.parametrize(("board_name", "runner"), PLACES)
@pytest.mark.parametrize("toolchain", COMPILERS)
def test_an_image_starts_listens_sleeps_and_measures_its_stack(
    build: Builder, board_name: str, runner: str, toolchain: str
) -> None:
    board, image = build(board_name, toolchain)
    with started(image, board, runner) as device:
        first = device.ask("i")
        assert first["initialised"] == 0x12345678
        assert first["zeroed"] == 0
        assert first["float"] == 42
        # QEMU's netduinoplus2 has no clock tree: the wait for its crystal gives up.
        stuck = (board_name, runner) == ("netduinoplus2", "qemu")
        assert first["clock"] == (board.reset_clock_hz if stuck else board.clock_hz)
        assert first["counts"] == 0
        second = device.ask("i")
        assert (second["initialised"], second["zeroed"]) == (1, 1)
        assert device.pairs("m") == [
            ("result", 0xFFFFFFF9),
            ("stack", 0),
            ("result", 0xFFFFFFF9),
            ("stack", 36),
        ]
        # A burst as long as the ring, while nobody reads it byte by byte.
        device.line.write(b"x" * 4000, READ_TIMEOUT_S)
        assert device.ask("e")["echoed"] == 4000


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("board_name", QEMU_BOARDS)
@pytest.mark.parametrize("toolchain", COMPILERS)
def test_a_fault_is_reported_with_its_registers(
    build: Builder, board_name: str, toolchain: str
) -> None:
    board, image = build(board_name, toolchain)
    with started(image, board, "qemu") as device:
        fault = device.ask("u")
    names = ("r0", "r1", "r2", "r3", "r12")
    assert [fault[name] for name in names] == [16, 17, 18, 19, 28]
    assert fault["kind"] == 6  # usage fault
    assert fault["cfsr"] == 1 << 16  # undefined instruction
    assert image.function_at(fault["pc"]).startswith("fault_undefined+")
    top = image.symbols["uhost_stack_top"].address
    assert top - 512 < fault["sp"] <= top
    assert fault["sp"] % 8 == 0


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("toolchain", COMPILERS)
@pytest.mark.parametrize(
    ("command", "kind", "cfsr"),
    [
        pytest.param("b", 5, 0x8200, id="bus fault at an address"),
        pytest.param("d", 6, 0x02000000, id="division by zero"),
    ],
)
def test_each_fault_has_its_kind(
    build: Builder, toolchain: str, command: str, kind: int, cfsr: int
) -> None:
    board, image = build("mps2_an500", toolchain)
    with started(image, board, "qemu") as device:
        fault = device.ask(command)
        assert (fault["kind"], fault["cfsr"]) == (kind, cfsr)
        if command == "b":
            assert fault["bfar"] == 0xB0000000
        # Nothing runs after a report.
        with pytest.raises(DeadlineError):
            device.line.read(1, 0.2)


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("toolchain", COMPILERS)
def test_a_stack_overflow_leaves_ram_and_is_reported(build: Builder, toolchain: str) -> None:
    board, image = build("netduinoplus2", toolchain)
    with started(image, board, "qemu") as device:
        fault = device.ask("o")
    assert fault["kind"] == 5  # bus fault
    assert fault["cfsr"] & 0x1000  # while the exception frame was written
    assert fault["sp"] < image.symbols["uhost_stack_limit"].address == 0x20000000
    assert fault["pc"] == 0  # the frame was lost


# ---- What the linker made ---------------------------------------------------------------


@pytest.mark.parametrize("board_name", [*QEMU_BOARDS, "stm32f746g_disco", "nucleo_f746zg"])
@pytest.mark.parametrize("toolchain", COMPILERS)
def test_the_image_lies_where_the_board_says(
    build: Builder, board_name: str, toolchain: str
) -> None:
    board, image = build(board_name, toolchain)
    flash, ram = board.region(board.flash), board.region(board.ram)
    symbols = image.symbols
    assert symbols["uhost_vectors"].address == flash.start
    assert symbols["uhost_stack_limit"].address == ram.start
    assert symbols["uhost_stack_top"].address == ram.start + board.stack_bytes
    assert symbols["uhost_data_start"].address >= symbols["uhost_stack_top"].address
    flat = image.elf.with_suffix(".bin").read_bytes()
    assert len(flat) == image.flash_bytes < 8192
    stack, reset = struct.unpack_from("<II", flat)
    assert stack == symbols["uhost_stack_top"].address
    assert reset == symbols["uhost_reset"].address | 1
    assert read_program(image.elf).entry == reset
    assert board.console is not None
    least = board.stack_bytes + board.console.receive_bytes
    assert least < image.ram_bytes < least + 256
    assert image.model_flash_bytes == 0
    assert "$" not in "".join(symbols)


@pytest.mark.parametrize("toolchain", COMPILERS)
def test_an_image_is_the_same_in_every_folder(
    build: Builder, toolchain: str, tmp_path: Path
) -> None:
    board, image = build("stm32f746g_disco", toolchain)
    other = TOOLCHAINS[toolchain].build(artifact_for(board), board, tmp_path / "some where else")
    for suffix in (".bin", ".hex", ".map"):
        first, second = (i.elf.with_suffix(suffix).read_bytes() for i in (image, other))
        assert first == second, suffix


@pytest.mark.parametrize("toolchain", COMPILERS)
def test_the_model_has_a_section_of_its_own(toolchain: str, tmp_path: Path) -> None:
    board = load_board("mps2_an500")
    model = b"""
        #include <stdint.h>
        static const int8_t weights[1000] = {1, 2, 3};
        int32_t net_run(const void *at) { return weights[*(const int32_t *)at]; }
        int32_t net_run_operator(const void *at) { return weights[*(const int32_t *)at] + 1; }
    """
    main = b"int net_run(const void *);\nint net_run_operator(const void *);\n" + MAIN.replace(
        b"return *(int32_t *)argument;",
        b"return *(int32_t *)argument + net_run(argument) + net_run_operator(argument);",
    )
    artifact = artifact_for(board).with_files({"model.c": model, "main.c": main})
    image = TOOLCHAINS[toolchain].build(artifact, board, tmp_path)
    sections = {s.name: s for s in read_program(image.elf).sections}
    inside = sections[".model"]
    assert image.model_flash_bytes == inside.size_bytes
    assert 1000 < inside.size_bytes < 1064
    for name, expected in (("weights", True), ("net_run", True), ("net_run_operator", False)):
        address = image.symbols[name].address
        assert (inside.address <= address < inside.address + inside.size_bytes) is expected


@pytest.mark.parametrize("toolchain", COMPILERS)
def test_an_image_that_overflows_ram_says_by_how_much(toolchain: str, tmp_path: Path) -> None:
    board = load_board("netduinoplus2")
    large = b"unsigned char large[130000];\n" + MAIN.replace(
        b"uhost_hal_init();", b"uhost_hal_init(); large[5] = 1;"
    )
    artifact = artifact_for(board).with_files({"main.c": large})
    with pytest.raises(OutOfMemoryError) as caught:
        TOOLCHAINS[toolchain].build(artifact, board, tmp_path)
    match = re.fullmatch(
        r"the image does not fit the region 'ram' \(131072 bytes at 0x20000000\): "
        r"(\d+) bytes are missing",
        caught.value.what,
    )
    assert match is not None
    least = 130000 + board.stack_bytes + 4096 - 131072
    assert least < int(match[1]) < least + 256


@pytest.mark.parametrize("toolchain", COMPILERS)
def test_hex_and_bin_hold_the_same_bytes(build: Builder, toolchain: str) -> None:
    board, image = build("stm32f746g_disco", toolchain)
    memory: dict[int, int] = {}
    upper, start = 0, 0
    lines = image.elf.with_suffix(".hex").read_text().splitlines()
    for line in lines:
        record = bytes.fromhex(line.removeprefix(":"))
        assert sum(record) & 0xFF == 0
        size, address, kind = struct.unpack_from(">BHB", record)
        content = record[4:-1]
        assert len(content) == size
        if kind == 0:
            memory.update({upper + address + i: byte for i, byte in enumerate(content)})
        elif kind == 4:
            upper = int.from_bytes(content, "big") << 16
        elif kind == 5:
            start = int.from_bytes(content, "big")
    assert lines[-1] == ":00000001FF"
    assert start == image.symbols["uhost_reset"].address | 1
    base = board.region(board.flash).start
    flat = image.elf.with_suffix(".bin").read_bytes()
    assert bytes(memory.get(base + i, 0xFF) for i in range(len(flat))) == flat
    text = image.elf.with_suffix(".map").read_text()
    assert re.search(r"^08000000 +456     uhost_vectors$", text, re.MULTILINE)
