"""The bundled model on every board that can be simulated, kws on some, refusals on the smallest."""

from __future__ import annotations

from pathlib import Path

import pytest

from uhost import driver, resources
from uhost.config.board import board_names, load_board
from uhost.errors import OutOfMemoryError
from uhost.runners._runner import RUNNERS
from uhost.runtime.device import device
from uhost.runtime.evaluation import Evaluation, measure
from uhost.runtime.samples import read_samples

BUNDLED = resources.bundled_model()
NEEDS = {"unicorn": (), "qemu": ("qemu",)}
# One compiler for each board, and each family by both.
BUILT_BY_ZIG = {
    *("b_u585i_iot02a", "mimxrt1050_evk", "mps2_an505", "mps3_an547", "nrf52840dk"),
    *("nucleo_l4r5zi", "rpi_pico", "lm3s6965evb"),
}
SIMULATED = [name for name in board_names() if load_board(name).console]


def toolchain_for(board: str) -> str:
    if load_board(board).target.kind == "riscv":
        return "riscv_gcc"
    return "zig" if board in BUILT_BY_ZIG else "arm_gcc"


def place(board: str, runner: str) -> object:
    tools = [*NEEDS[runner], *(() if toolchain_for(board) == "zig" else (toolchain_for(board),))]
    if load_board(board).target.kind == "riscv":
        tools = ["riscv_gcc", "qemu_riscv"]
    return pytest.param(board, runner, marks=[pytest.mark.needs(*tools)] if tools else [])


PLACES = [
    place(board, runner)
    for board in SIMULATED
    for runner in NEEDS
    if not RUNNERS[runner].supports(load_board(board))
]


def verified(
    model: Path, samples: Path, board: str, runner: str, toolchain: str, count: int = 1
) -> Evaluation:
    built = driver.link(driver.compile_models(driver.load(model), board), toolchain)
    items = read_samples(samples, built.compiled.models[0].lowered.graph).items[:count]
    return measure(built, device(board, runner), items, layers=True)


@pytest.mark.parametrize(("board", "runner"), PLACES)
def test_the_bundled_model_is_exact(board: str, runner: str) -> None:
    result = verified(BUNDLED, BUNDLED.with_suffix(".npz"), board, runner, toolchain_for(board), 2)
    assert result.exact, [c for c in result.comparisons if not c.exact]


def test_every_board_says_truly_what_it_was_run_on() -> None:
    """Those that the test above runs, and nothing else, but for the two that go first anyway."""
    for name in SIMULATED:
        board = load_board(name)
        possible = tuple(r for r in ("unicorn", "qemu") if not RUNNERS[r].supports(board))
        assert board.verified == possible, name
        assert board.runners[: len(possible)] == possible, name


@pytest.mark.needs("riscv_gcc", "qemu_riscv")
@pytest.mark.parametrize("toolchain", ["riscv_gcc", "zig"])
def test_riscv_counts_its_instructions(toolchain: str) -> None:
    """QEMU counts an instruction as a cycle there; so the count is that of the code, always."""
    samples = BUNDLED.with_suffix(".npz")
    results = [verified(BUNDLED, samples, "qemu_riscv32", "qemu", toolchain) for _ in range(2)]
    assert all(result.exact for result in results)
    assert results[0].cycles == results[1].cycles
    macs = sum(operator.macs for operator in results[0].operators)
    assert results[0].cycles is not None
    assert macs < results[0].cycles < 20 * macs


@pytest.mark.parametrize(
    ("board", "runner"),
    [
        place("mps2_an521", "qemu"),
        place("mps3_an547", "qemu"),
        place("lm3s6965evb", "unicorn"),
        place("microbit", "unicorn"),
        place("qemu_riscv32", "qemu"),
        place("rpi_pico", "unicorn"),
    ],
)
def test_kws_is_exact(shared_models: Path, board: str, runner: str) -> None:
    model, golden = (shared_models / f"mlperf_kws_int8{end}" for end in (".tflite", ".golden.npz"))
    result = verified(model, golden, board, runner, toolchain_for(board))
    assert result.exact, [c for c in result.comparisons if not c.exact]


def test_the_microbit_refuses_vww_with_the_bytes_missing(shared_models: Path) -> None:
    model = driver.load(shared_models / "mlperf_vww_int8.tflite")
    with pytest.raises(OutOfMemoryError) as caught:
        driver.compile_models(model, "microbit")
    assert caught.value.what.startswith(
        "the model does not fit: region 'ram' of microbit has 16,384 B, at least "
    )
