"""A model that the memory of a board does not hold for speed, and holds for little RAM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from uhost import driver
from uhost.config.board import load_board
from uhost.errors import OutOfMemoryError
from uhost.runtime.device import device
from uhost.runtime.evaluation import measure
from uhost.runtime.samples import read_samples

BOARD = "netduinoplus2"
RAM_BYTES = 128 * 1024
FLOAT, INT8 = "mlperf_ic_float", "arm_yolo_fastest_face_int8"

models = pytest.mark.parametrize("name", [FLOAT, pytest.param(INT8, marks=pytest.mark.full)])


@models
def test_for_speed_it_does_not_fit(shared_models: Path, name: str) -> None:
    """What is said to be missing is what the best plan lacks, which was searched for."""
    sources = driver.load(shared_models / f"{name}.tflite")
    with pytest.raises(OutOfMemoryError, match="131,072 B, at least") as refused:
        driver.compile_models(sources, BOARD)
    assert "--optimize ram makes the arena" in str(refused.value)
    board = load_board(BOARD)
    graphs = [source.graph for source in sources]
    [lowered] = driver.lower_models(graphs, driver.configure(board))
    plan = lowered.plan
    assert plan.arena_bytes <= 1.01 * plan.lower_bound_bytes
    missing = plan.arena_bytes + board.stack_bytes - RAM_BYTES
    assert f"at least {missing:,} B are missing" in str(refused.value)


@pytest.mark.needs("arm_gcc", "qemu")
@models
def test_for_little_ram_it_fits_and_runs(shared_models: Path, name: str) -> None:
    """Every tensor and output is the reference's and the golden one, floats within tolerance."""
    board = load_board(BOARD)
    config = replace(driver.configure(board), optimize="ram")
    sources = driver.load(shared_models / f"{name}.tflite")
    built = driver.link(driver.compile_models(sources, board, config=config), "arm_gcc")
    assert built.image.ram_bytes <= RAM_BYTES
    graph = built.compiled.models[0].lowered.graph
    samples = read_samples(shared_models / f"{name}.golden.npz", graph).items[:1]
    result = measure(built, device(board, "qemu"), samples, layers=True)
    assert result.arena_bytes + board.stack_bytes < RAM_BYTES
    assert len(result.comparisons) > len(graph.outputs)
    assert result.matches, [c for c in result.comparisons if not c.matches]
    assert result.exact or name == FLOAT
