"""Start-up, HAL and UART drivers of the newer cores and UART kinds, by every compiler for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from uhost.codegen.artifact import Artifact
from uhost.codegen.firmware import firmware_files
from uhost.config.board import Board, load_board
from uhost.runners._runner import RUNNERS
from uhost.toolchain._toolchain import TOOLCHAINS, Image
from uhost.transport._transport import Transport

MAIN = (Path(__file__).parent / "startup" / "main.c").read_bytes()
TIMEOUT_S = 20.0
ARM = ("arm_gcc", "zig")
# Board, runner, compilers: one board for each core and each UART kind.
PLACES = [
    ("microbit", "qemu", ARM),  # Cortex-M0, nrf_uart
    ("rpi_pico", "unicorn", ARM),  # Cortex-M0+, pl011, behind a boot block
    ("lm3s6965evb", "qemu", ARM),  # Cortex-M3, pl011
    ("mps2_an521", "qemu", ARM),  # Cortex-M33 without FPU and DSP
    ("mps3_an547", "qemu", ARM),  # Cortex-M55
    ("nrf5340dk_app", "unicorn", ARM),  # Cortex-M33, nrf_uarte
    ("nucleo_l4r5zi", "unicorn", ARM),  # stm32_lpuart
    ("mimxrt1050_evk", "unicorn", ARM),  # nxp_lpuart, behind a boot block
    ("qemu_riscv32", "qemu", ("riscv_gcc", "zig")),  # RISC-V, ns16550
]


def tools(board: str, runner: str, compiler: str) -> list[pytest.MarkDecorator]:
    qemu = "qemu_riscv" if board == "qemu_riscv32" else "qemu"
    names = [*([qemu] if runner == "qemu" else []), *([compiler] if compiler != "zig" else [])]
    return [pytest.mark.needs(*names)] if names else []


CASES = [
    pytest.param(board, runner, compiler, marks=tools(board, runner, compiler))
    for board, runner, compilers in PLACES
    for compiler in compilers
]


def build(board: Board, compiler: str, folder: Path) -> Image:
    files = {p: c for p, c in firmware_files(board).items() if "/rpc/" not in p}
    return TOOLCHAINS[compiler].build(Artifact(files | {"main.c": MAIN}), board, folder)


def ask(image: Image, board: Board, runner: str, *commands: str) -> list[list[tuple[str, int]]]:
    """Returns the pairs of name and number that answer each command, on a device of their own."""
    line = RUNNERS[runner].start(image, board)
    line.open()
    try:
        answers = [read_line(line)]
        assert answers == ["ready\n"]
        for command in commands:
            line.write(command.encode(), TIMEOUT_S)
            answers.append(read_line(line))
    finally:
        line.close()
    pairs = (re.findall(r"(\w+)=(\w{8})", answer) for answer in answers[1:])
    return [[(name, int(value, 16)) for name, value in answer] for answer in pairs]


def read_line(line: Transport) -> str:
    text = b""
    while not text.endswith(b"\n"):
        text += line.read(4096, TIMEOUT_S)
    return text.decode()


@pytest.mark.parametrize(("name", "runner", "compiler"), CASES)
def test_starts_receives_measures_and_reports_faults(
    name: str, runner: str, compiler: str, tmp_path: Path
) -> None:
    board = load_board(name)
    assert board.console is not None
    image = build(board, compiler, tmp_path)
    burst = min(4000, board.console.receive_bytes - 96)
    started, again, measured, echoed = ask(image, board, runner, "i", "i", "m", "x" * burst + "e")
    first = dict(started)
    assert (first["initialised"], first["zeroed"], first["float"]) == (0x12345678, 0, 42)
    assert first["clock"] == board.clock_hz
    assert first["counts"] == int(board.cycle_counter == "mcycle")
    assert (dict(again)["initialised"], dict(again)["zeroed"]) == (1, 1)
    assert measured == [
        *(("result", 0xFFFFFFF9), ("stack", 0)),
        *(("result", 0xFFFFFFF9), ("stack", 36)),
    ]
    assert dict(echoed)["echoed"] == burst

    (undefined,) = ask(image, board, runner, "u")
    fault = dict(undefined)
    assert [fault[register] for register in ("r0", "r1", "r2", "r3", "r12")] == [16, 17, 18, 19, 28]
    armv6m = board.target.cpu.startswith("cortex-m0")
    assert fault["kind"] == (3 if armv6m else 6), "Armv6-M has the hard fault alone"
    assert fault["cfsr"] == (0 if armv6m else 1 << 16)
    assert image.function_at(fault["pc"]).startswith("fault_undefined+")
    top = image.symbols["uhost_stack_top"].address
    assert top - 512 < fault["sp"] <= top

    if runner == "qemu":
        (overflow,) = ask(image, board, runner, "o")
        assert dict(overflow)["kind"] in (3, 5)
        assert dict(overflow)["sp"] < board.region(board.ram).start, "the stack is below all data"


@pytest.mark.needs("riscv_gcc", "qemu_riscv")
def test_riscv_tells_the_address_of_a_bad_access(tmp_path: Path) -> None:
    board = load_board("qemu_riscv32")
    image = build(board, "riscv_gcc", tmp_path)
    (answer,) = ask(image, board, "qemu", "b")
    fault = dict(answer)
    assert (fault["kind"], fault["cfsr"], fault["bfar"]) == (5, 0x8200, 0xB0000000)
    assert image.function_at(fault["pc"]).startswith("main+")
