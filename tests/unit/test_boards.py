"""Board and chip files: what they say, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from uhost import resources
from uhost.config._board_checks import actual_baud
from uhost.config.board import Bank, Board, Region, Step, board_names, chip_names, load_board
from uhost.errors import BoardError
from uhost.targets._target import TARGETS

CHIP = """\
description: a chip
default_board: mps2_an500
target: {kind: cortex_m, cpu: cortex-m4, fpu: single}
cycle_counter: dwt
interrupts: 32
memory:
  - {name: flash, start: 0x08000000, size_kib: 256, kind: flash}
  - {name: ram, start: 0x20000000, size_kib: 64, kind: ram}
flash: flash
ram: ram
clock: {reset_hz: 16000000, max_hz: 100000000, bus_dividers: {apb: 2}}
registers:
  RCC_CR: 0x40023800
sequences:
  - name: start
    steps:
      - {op: set, register: RCC_CR, mask: 0x1}
      - {op: wait, register: RCC_CR, mask: 0x2, value: 0x2}
uarts:
  - name: USART1
    kind: stm32_usart_v1
    base: 0x40011000
    irq: 5
    bus: apb
    enable: [{op: clear, register: RCC_CR, mask: 0x10}]
sources: [a manual]
"""
BOARD = """\
description: a board
chip: mychip
clock:
  hz: 48000000
  steps:
    - {op: use, sequence: start}
    - {op: write, register: PLL, value: 0x7}
console: {uart: USART1, baud: 115200, pins: []}
registers: {PLL: 0x40023804}
stack_bytes: 4096
runners: [unicorn]
verified: []
"""
Writer = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes a board and its chip, with replacements, and returns the board's path."""

    def write(board: tuple[str, str] = ("", ""), chip: tuple[str, str] = ("", "")) -> Path:
        for old, text in ((board[0], BOARD), (chip[0], CHIP)):
            assert old in text
        (tmp_path / "chips").mkdir(exist_ok=True)
        (tmp_path / "chips" / "mychip.yaml").write_text(CHIP.replace(*chip) if chip[0] else CHIP)
        path = tmp_path / "my.yaml"
        path.write_text(BOARD.replace(*board) if board[0] else BOARD)
        return path

    return write


def refusal(path: Path) -> BoardError:
    with pytest.raises(BoardError) as caught:
        load_board(str(path))
    return caught.value


def test_the_boards_and_chips_that_come_with_uhost() -> None:
    assert set(board_names()) == {
        "b_u585i_iot02a",
        "host",
        "lm3s6965evb",
        "microbit",
        "mimxrt1050_evk",
        "mps2_an386",
        "mps2_an500",
        "mps2_an505",
        "mps2_an521",
        "mps3_an547",
        "netduinoplus2",
        "nrf52840dk",
        "nrf5340dk_app",
        "nucleo_f446re",
        "nucleo_f746zg",
        "nucleo_h743zi2",
        "nucleo_l4r5zi",
        "qemu_riscv32",
        "rpi_pico",
        "rpi_pico2",
        "stm32f4_discovery",
        "stm32f746g_disco",
    }
    chips = {load_board(name).chip for name in board_names()}
    assert chips == {*chip_names(), ""}, "every chip has a board"


@pytest.mark.parametrize("name", [*board_names(), *chip_names()])
def test_every_file_loads_and_is_short(name: str) -> None:
    board = load_board(name)
    assert board.name == name
    assert board.runners
    for path in resources.folder("boards").rglob("*.yaml"):
        assert len(path.read_text().splitlines()) < 100, path


@pytest.mark.parametrize("name", chip_names())
def test_a_chip_stands_for_its_default_board_under_the_name_typed(name: str) -> None:
    board = load_board(name)
    assert board.board in board_names()
    assert board.chip == name
    assert load_board(board.board).console == board.console


def test_the_discovery_board() -> None:
    board = load_board("stm32f746")
    assert board.name == "stm32f746"
    assert board.board == "stm32f746g_disco"
    assert str(board.target) == "cortex_m cortex-m7 [dsp, fpu] kernels: dsp, fpu, reference"
    sectors = tuple(1024 * kib for kib in (32, 32, 32, 32, 128, 256, 256, 256))
    assert board.region("flash") == Region("flash", 0x08000000, 2**20, "flash", (), sectors)
    assert board.region("ram").end == 0x20050000
    assert board.region("ram").banks == (
        Bank("dtcm", 0x20000000, 64 * 1024),
        Bank("sram1", 0x20010000, 240 * 1024),
        Bank("sram2", 0x2004C000, 16 * 1024),
    )
    assert (board.clock_hz, board.reset_clock_hz) == (216_000_000, 16_000_000)
    assert len(board.clock_steps) == 16
    assert board.clock_steps[4] == Step("write", "RCC_PLLCFGR", 0x40023804, 0xFFFFFFFF, 0x29406C19)
    assert board.console is not None
    assert board.console.kind == "stm32_usart_v3"
    assert (board.console.base, board.console.irq) == (0x40011000, 37)
    assert (board.console.clock_hz, board.console.reset_clock_hz) == (108_000_000, 16_000_000)
    assert round(board.console.clock_hz / board.console.baud) == 938
    assert board.vector_count == 114
    assert board.vector_alignment_bytes == 512


def test_two_boards_share_a_chip_and_differ_in_clock_source_and_console() -> None:
    disco, nucleo = load_board("stm32f746g_disco"), load_board("nucleo_f746zg")
    assert disco.regions == nucleo.regions
    assert disco.console is not None
    assert nucleo.console is not None
    assert (disco.console.uart, nucleo.console.uart) == ("USART1", "USART3")
    assert nucleo.console.clock_hz == 54_000_000
    only_nucleo = set(nucleo.clock_steps) - set(disco.clock_steps)
    assert only_nucleo == {
        Step("set", "RCC_CR", 0x40023800, 0x40000, 0x40000),
        Step("write", "RCC_PLLCFGR", 0x40023804, 0xFFFFFFFF, 0x29403604),
    }


def test_the_host_has_no_memory_regions_and_no_console() -> None:
    board = load_board("host")
    assert (board.target.kind, board.runners) == ("host", ("host",))
    assert board.console is None
    assert board.regions == ()
    with pytest.raises(BoardError, match="the board has no region 'flash'"):
        board.region("flash")


def test_a_path_is_a_board_too_with_a_chip_beside_it(write: Writer) -> None:
    board = load_board(str(write()))
    assert (board.name, board.board, board.chip) == ("my", "my", "mychip")
    assert [step.op for step in board.clock_steps] == ["set", "wait", "write"]
    assert board.console is not None
    assert board.console.clock_hz == 24_000_000
    assert board.console.receive_bytes == 4096
    assert board.console.steps == (Step("clear", "RCC_CR", 0x40023800, 0x10, 0),)
    assert board.vector_alignment_bytes == 256
    assert isinstance(hash(board), int)
    assert board == load_board(str(write()))
    assert isinstance(board, Board)


def test_a_small_ram_gets_a_small_receive_ring(write: Writer) -> None:
    board = load_board(str(write(chip=("size_kib: 64", "size_kib: 16"))))
    assert board.console is not None
    assert board.console.receive_bytes == 1024


def test_an_unknown_board_names_the_nearest() -> None:
    with pytest.raises(BoardError) as caught:
        load_board("stm32f746g_disc")
    assert str(caught.value) == (
        "there is no board 'stm32f746g_disc'\n"
        "  fix:   did you mean 'stm32f746g_disco'? `uhost boards` lists them; the name "
        "of a chip and the path of a board file do too"
    )


def test_a_missing_board_file() -> None:
    with pytest.raises(BoardError, match=r"there is no board file './nowhere\.yaml'"):
        load_board("./nowhere.yaml")


BOARD_MISTAKES = [
    (
        ("verified: []", "verified: []\nusb: [0483-374b]"),
        "my.yaml:13, key usb[0]",
        "wrong value: expected `str` matching regex '^[0-9a-f]{4}:[0-9a-f]{4}$'",
        "expected text that matches ^[0-9a-f]{4}:[0-9a-f]{4}$",
    ),
    (
        ("verified: []", "verified: []\nbootloader: {kind: dfu, enter: a button}"),
        "my.yaml:13, key bootloader.kind",
        "wrong value: invalid enum value 'dfu'",
        "expected one of stm32_an3155, uf2",
    ),
    (
        ("stack_bytes: 4096", "stack_byte: 4096"),
        "my.yaml:10, key stack_byte",
        "unknown key 'stack_byte'",
        "did you mean 'stack_bytes'? known: bootloader, chip, clock, console, description, jlink, "
        "notes, openocd, pyocd, qemu, registers, renode, runners, sources, stack_bytes, stlink, "
        "target, usb, verified",
    ),
    (
        ("hz: 48000000", "hz: fast"),
        "my.yaml:4, key clock.hz",
        "wrong value: expected `int`, got `str`",
        "expected an integer from 1 to 4294967295",
    ),
    (
        ("  hz: 48000000\n", ""),
        "my.yaml:3, key clock",
        "the key 'hz' is missing, expected an integer from 1 to 4294967295",
        "add 'hz:'",
    ),
    (
        ("{op: use, sequence: start}", "{op: used, sequence: start}"),
        "my.yaml:6, key clock.steps[0].op",
        "wrong value: invalid value 'used'",
        "did you mean 'use'? expected one of set, clear, modify, write, wait, use",
    ),
    (
        ("sequence: start}", "sequence: stat}"),
        "my.yaml:6, key clock.steps[0].sequence",
        "there is no sequence 'stat'",
        "did you mean 'start'? known: start",
    ),
    (
        ("register: PLL", "register: PPL"),
        "my.yaml:7, key clock.steps[1].register",
        "there is no register 'PPL'",
        "did you mean 'PLL'? known: RCC_CR, PLL",
    ),
    (
        ("{op: write, register: PLL, value: 0x7}", "{op: write, register: PLL, value: -1}"),
        "my.yaml:7, key clock.steps[1].value",
        "wrong value: expected `int` >= 0",
        "expected an integer from 0 to 4294967295",
    ),
    (
        (
            "{op: write, register: PLL, value: 0x7}",
            "{op: modify, register: PLL, mask: 0x3, value: 0x7}",
        ),
        "my.yaml:7, key clock.steps[1].value",
        "the value 0x00000007 has bits outside the mask 0x00000003",
        "widen the mask or correct the value",
    ),
    (
        ("chip: mychip", "chip: mychips"),
        "my.yaml:2, key chip",
        "there is no chip 'mychips'",
        f"did you mean 'mychip'? known: {', '.join(sorted([*chip_names(), 'mychip']))}",
    ),
    (
        ("hz: 48000000", "hz: 480000000"),
        "my.yaml:4, key clock.hz",
        "the clock of 480000000 Hz is out of the chip's range",
        "give Hz, from 1000000 to 100000000",
    ),
    (
        (
            "  steps:\n    - {op: use, sequence: start}\n"
            "    - {op: write, register: PLL, value: 0x7}\n",
            "",
        ),
        "my.yaml:4, key clock.hz",
        "no steps lead from 16000000 Hz at reset to 48000000 Hz",
        "add 'steps:', or give the clock at reset",
    ),
    (
        ("uart: USART1", "uart: USART2"),
        "my.yaml:8, key console.uart",
        "there is no UART 'USART2'",
        "did you mean 'USART1'? known: USART1",
    ),
    (
        ("baud: 115200", "baud: 2000000"),
        "my.yaml:8, key console.baud",
        "a stm32_usart_v1 clocked at 24000000 Hz cannot make 2000000 baud",
        "give at most 1500000 baud, within 2.5 % of a divisor",
    ),
    (
        ("pins: []", "receive_bytes: 1000"),
        "my.yaml:8, key console.receive_bytes",
        "the receive ring cannot be 1000 bytes",
        "give a power of two from 64 to 16384",
    ),
    (
        ("PLL: 0x40023804", "PLL: 0x40023806"),
        "my.yaml:9, key registers.PLL",
        "the register address 0x40023806 is not a multiple of 4",
        "give the address of a 32-bit register",
    ),
    (
        ("PLL: 0x40023804", "PLL: here"),
        "my.yaml:9, key registers.PLL",
        "wrong value: 'here'",
        "expected an integer from 0 to 4294967295",
    ),
    (
        ("PLL: 0x40023804", "PLL: 0x40023804, RCC_CR: 0x40023804"),
        "my.yaml:9, key registers.RCC_CR",
        "the chip gives the register 'RCC_CR' another address",
        "remove or rename it",
    ),
    (
        ("stack_bytes: 4096", "stack_bytes: 4100"),
        "my.yaml:10, key stack_bytes",
        "the stack size 4100 is not a multiple of 8 bytes",
        "round it up",
    ),
    (
        ("stack_bytes: 4096", "stack_bytes: 65536"),
        "my.yaml:10, key stack_bytes",
        "implausible stack size: 65536 bytes",
        "give from 1024 to less than the 65536 bytes of RAM",
    ),
    (
        ("stack_bytes: 4096\n", ""),
        "my.yaml:1",
        "the key 'stack_bytes' is missing",
        "add 'stack_bytes:'",
    ),
    (
        ("runners: [unicorn]", "runners: []"),
        "my.yaml:11, key runners",
        "no runner is given",
        "name at least one runner",
    ),
    (
        ("runners: [unicorn]", "runners: unicorn"),
        "my.yaml:11, key runners",
        "wrong value: expected `array`, got `str`",
        "expected a list, each item text",
    ),
    (
        ("verified: []", "target: {kind: host, fpu: double}\nverified: []"),
        "my.yaml:12, key target",
        "the chip states the target",
        "remove 'target:'",
    ),
    (
        ("chip: mychip\n", "target: {kind: host, fpu: double}\n"),
        "my.yaml:3, key clock",
        "'clock' needs a chip",
        "add 'chip:', or remove the key",
    ),
    (("chip: mychip\n", ""), "my.yaml:1", "neither 'chip' nor 'target' is given", "add 'chip:'"),
    (
        ("verified: []", "runners: [qemu]\nverified: []"),
        "my.yaml:12",
        "the key 'runners' occurs twice; first on line 11",
        "keep one of them",
    ),
    (
        ("verified: []", "verified: ]"),
        "my.yaml:12",
        "not valid YAML: expected the node content, but found ']'",
        "correct the syntax",
    ),
]


@pytest.mark.parametrize(("edit", "where", "what", "fix"), BOARD_MISTAKES)
def test_a_mistake_in_a_board_file_is_explained(
    write: Writer, edit: tuple[str, str], where: str, what: str, fix: str
) -> None:
    error = refusal(write(board=edit))
    assert error.what == what
    assert error.where.endswith(f"/{where}")
    assert error.fix == fix


CHIP_MISTAKES = [
    (
        ("interrupts: 32", "interrupts: 32\nboot: {kind: rp2041, at: start, size_bytes: 256}"),
        "mychip.yaml:6, key boot.kind",
        "there is no boot block 'rp2041'",
        "did you mean 'rp2040'? known: flexspi_hyperflash, rp2040, rp2350",
    ),
    (
        ("interrupts: 32", "interrupts: 32\nboot: {kind: rp2040, at: start, size_bytes: 100}"),
        "mychip.yaml:8, key memory[0].start",
        "the vector table of 48 entries would not be aligned",
        "start the region at a multiple of 256 bytes",
    ),
    (
        ("interrupts: 32", "interrupts: 32\nplic: 0x0C000000"),
        "mychip.yaml:6, key plic",
        "a riscv chip, and no other, has its interrupts from a PLIC",
        "add 'plic:' with its address, or remove the key",
    ),
    (
        ("kind: ram}", "kind: rom}"),
        "mychip.yaml:8, key memory[1].kind",
        "wrong value: invalid enum value 'rom'",
        "did you mean 'ram'? expected one of ccm, external, flash, ram, tcm",
    ),
    (
        ("start: 0x20000000", "start: 0x0803FC00"),
        "mychip.yaml:8, key memory[1]",
        "the region 'ram' overlaps 'flash'",
        "correct start or size_kib",
    ),
    (
        ("start: 0x20000000", "start: 0xFFFFF000"),
        "mychip.yaml:8, key memory[1]",
        "the region 'ram' ends above 4 GiB",
        "correct its size",
    ),
    (
        ("kind: ram}", "kind: ram, banks: [{name: a, size_kib: 60}]}"),
        "mychip.yaml:8, key memory[1].banks",
        "the banks of 'ram' add up to 60 KiB, the region has 64 KiB",
        "correct the sizes",
    ),
    (
        ("kind: flash}", "kind: flash, sectors_kib: [64, 128]}"),
        "mychip.yaml:7, key memory[0].sectors_kib",
        "the erase sectors of 'flash' add up to 192 KiB, the region is 256 KiB of flash",
        "correct the sizes; only flash has sectors",
    ),
    (
        ("kind: ram}", "kind: ram, sectors_kib: [64]}"),
        "mychip.yaml:8, key memory[1].sectors_kib",
        "the erase sectors of 'ram' add up to 64 KiB, the region is 64 KiB of ram",
        "correct the sizes; only flash has sectors",
    ),
    (
        ("name: ram,", "name: flash,"),
        "mychip.yaml:8, key memory[1].name",
        "the name 'flash' occurs twice",
        "rename one",
    ),
    (
        ("name: ram,", "name: main ram,"),
        "mychip.yaml:8, key memory[1].name",
        "'main ram' is not a name",
        "use letters, digits and underscores",
    ),
    (
        ("\nflash: flash", "\nflash: flesh"),
        "mychip.yaml:9, key flash",
        "there is no region 'flesh'",
        "did you mean 'flash'? known: flash, ram",
    ),
    (
        ("\nram: ram", "\nram: flash"),
        "mychip.yaml:10, key ram",
        "the region 'flash' is of kind 'flash', expected 'ram'",
        "name a region of kind 'ram'",
    ),
    (
        ("start: 0x08000000", "start: 0x08000080"),
        "mychip.yaml:7, key memory[0].start",
        "the vector table of 48 entries would not be aligned",
        "start the region at a multiple of 256 bytes",
    ),
    (
        ("kind: stm32_usart_v1", "kind: stm32_usart_v2"),
        "mychip.yaml:21, key uarts[0].kind",
        "there is no UART kind 'stm32_usart_v2'",
        "did you mean 'stm32_usart_v3'? known: cmsdk_apb_uart, nrf_uart, nrf_uarte, ns16550, "
        "nxp_lpuart, pl011, stm32_lpuart, stm32_usart_v1, stm32_usart_v3",
    ),
    (
        ("irq: 5", "irq: 32"),
        "mychip.yaml:23, key uarts[0].irq",
        "the chip has no interrupt 32: it has 32",
        "give a number from 0 to 31",
    ),
    (
        ("bus: apb", "bus: abp"),
        "mychip.yaml:24, key uarts[0].bus",
        "there is no bus 'abp'",
        "did you mean 'apb'? known: core, apb",
    ),
    (
        ("apb: 2", "apb: 0"),
        "mychip.yaml:11, key clock.bus_dividers.apb",
        "implausible bus divider: 0",
        "give what the core clock is divided by, from 1 to 1024",
    ),
    (
        ("reset_hz: 16000000", "reset_hz: 16"),
        "mychip.yaml:11, key clock.reset_hz",
        "implausible clock: 16 Hz at reset, at most 100000000 Hz",
        "give frequencies in Hz from 1000000 to 2000000000, reset_hz <= max_hz",
    ),
    (
        ("RCC_CR: 0x40023800", "RCC_CR: 0x40023801"),
        "mychip.yaml:13, key registers.RCC_CR",
        "the register address 0x40023801 is not a multiple of 4",
        "give the address of a 32-bit register",
    ),
    (
        ("kind: cortex_m,", "kind: cortexm,"),
        "mychip.yaml:3, key target.kind",
        "there is no target 'cortexm'",
        "did you mean 'cortex_m'? known: cortex_m, host, riscv",
    ),
    (
        ("cpu: cortex-m4", "cpu: cortex-m9"),
        "mychip.yaml:3, key target",
        "there is no CPU 'cortex-m9' in the target 'cortex_m'",
        "known: cortex-m0, cortex-m0plus, cortex-m3, cortex-m33, cortex-m33+nodsp, cortex-m4, "
        "cortex-m55, cortex-m7, cortex-m85",
    ),
    (
        ("fpu: single", "fpu: double"),
        "mychip.yaml:3, key target",
        "the CPU 'cortex-m4' has no FPU option 'double'",
        "known: none, single",
    ),
]


@pytest.mark.parametrize(("edit", "where", "what", "fix"), CHIP_MISTAKES)
def test_a_mistake_in_a_chip_file_is_explained(
    write: Writer, edit: tuple[str, str], where: str, what: str, fix: str
) -> None:
    error = refusal(write(chip=edit))
    assert error.what == what
    assert error.where.endswith(f"/{where}")
    assert error.fix == fix


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("# nothing\n")
    assert str(refusal(path)) == f"the file is empty\n  where: {path}\n  fix:   write its keys"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[1, 2]", "wrong value: expected `object`, got `array`"),
        ("just text", "wrong value: expected `object`, got `str`"),
        ("&a [*a]", "wrong value: expected `object`, got `array`"),
        ("? [1]\n: 2", "a key must be text, not a collection"),
        ("3: 1", "a key must be text, not '3'"),
        ("\x00", "not valid YAML: unacceptable character #x0000"),
        ("chip: 0x_", "not valid YAML: invalid literal for int() with base 16: ''"),
        ("chip: !!python/name:os.system", "not valid YAML: could not determine a constructor"),
        ("[" * 5000, "not valid YAML: "),
    ],
)
def test_a_file_that_is_no_mapping_of_names(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text)
    error = refusal(path)
    assert error.what.startswith(what)
    assert str(path) in error.where


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_bytes(b"description: \xff\xfe")
    assert refusal(path).what.startswith("cannot read the file: ")


def test_single_precision_is_never_built_for_double() -> None:
    kind = TARGETS["cortex_m"]
    single, double = kind.target("cortex-m7", "single"), kind.target("cortex-m7", "double")
    assert kind.gcc_flags(single) == (
        "-mcpu=cortex-m7",
        "-mthumb",
        "-mfpu=fpv5-sp-d16",
        "-mfloat-abi=hard",
    )
    assert kind.clang_flags(single)[-1] == "-mcpu=cortex_m7+fp_armv8d16sp"
    assert kind.gcc_flags(double)[2] == "-mfpu=fpv5-d16"
    assert kind.clang_flags(double)[-1] == "-mcpu=cortex_m7+fp_armv8d16"
    assert single.features == ("dsp", "fpu")
    assert double.has("fpu_double")
    assert kind.target("cortex-m4", "none").features == ("dsp",)
    assert kind.gcc_flags(kind.target("cortex-m4", "none"))[-1] == "-mfloat-abi=soft"


def test_a_small_core_is_built_without_an_fpu_and_without_divide() -> None:
    kind = TARGETS["cortex_m"]
    for cpu, model in (("cortex-m0", "cortex_m0"), ("cortex-m33+nodsp", "cortex_m33-dsp")):
        target = kind.target(cpu, "none")
        assert target.libraries == ("reference",)
        assert kind.gcc_flags(target) == (f"-mcpu={cpu}", "-mthumb", "-mfloat-abi=soft")
        assert kind.clang_flags(target)[-1] == f"-mcpu={model}"


def test_how_a_board_is_reached_from_outside() -> None:
    board = load_board("nrf52840dk")
    assert board.renode is not None
    assert board.renode.uart == "sysbus.uart0"
    assert board.renode.cpu == "cpu"
    assert board.openocd == ("interface/jlink.cfg", "target/nrf52.cfg")
    assert (board.pyocd, board.jlink, board.stlink) == ("nrf52840", "nRF52840_xxAA", False)
    assert board.usb[0] == "1366:1015"
    assert board.bootloader is None
    pico = load_board("rpi_pico").bootloader
    assert pico is not None
    assert (pico.kind, pico.family_id, pico.chip_id) == ("uf2", 0xE48BFF56, 0)
    rom = load_board("b_u585i_iot02a").bootloader
    assert rom is not None
    assert (rom.kind, rom.console, rom.chip_id) == ("stm32_an3155", True, 0x482)


def test_the_image_begins_behind_the_boot_block() -> None:
    assert load_board("stm32f746").vector_table == 0x08000000
    assert load_board("rpi_pico").vector_table == 0x10000100
    assert load_board("rpi_pico2").vector_table == 0x10000000
    assert load_board("mimxrt1050_evk").vector_table == 0x60002000


def test_a_uart_may_have_a_clock_of_its_own() -> None:
    console = load_board("mimxrt1050_evk").console
    assert console is not None
    assert (console.clock_hz, console.reset_clock_hz) == (24_000_000, 24_000_000)


@pytest.mark.parametrize(
    ("kind", "clock_hz", "baud", "actual"),
    [
        ("stm32_usart_v3", 54_000_000, 115200, 54e6 / 469),
        ("stm32_usart_v3", 1_000_000, 115200, 0),
        ("stm32_lpuart", 4_000_000, 115200, 256 * 4e6 / 8889),
        ("stm32_lpuart", 300_000, 115200, 0),
        ("nxp_lpuart", 24_000_000, 115200, 24e6 / (16 * 13)),
        ("ns16550", 3_686_400, 115200, 115200),
        ("ns16550", 3_686_400, 460800, 0),
        ("nrf_uarte", 16_000_000, 1_000_000, 1_000_000),
        ("nrf_uart", 16_000_000, 300_000, 0),
    ],
)
def test_the_rate_a_uart_makes(kind: str, clock_hz: int, baud: int, actual: float) -> None:
    assert actual_baud(kind, clock_hz, baud) == actual
