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
MODEL = "mlperf_ic_float"


def test_for_speed_it_does_not_fit(shared_models: Path) -> None:
    sources = driver.load(shared_models / f"{MODEL}.tflite")
    with pytest.raises(OutOfMemoryError, match="131,072 B, at least") as refused:
        driver.compile_models(sources, BOARD)
    assert "--optimize ram makes the arena" in str(refused.value)


@pytest.mark.needs("arm_gcc", "qemu")
def test_for_little_ram_it_fits_and_runs(shared_models: Path) -> None:
    """Every tensor is within the tolerance for floats of the reference, and so is the output."""
    board = load_board(BOARD)
    config = replace(driver.configure(board), optimize="ram")
    sources = driver.load(shared_models / f"{MODEL}.tflite")
    built = driver.link(driver.compile_models(sources, board, config=config), "arm_gcc")
    assert built.image.ram_bytes <= RAM_BYTES
    graph = built.compiled.models[0].lowered.graph
    samples = read_samples(shared_models / f"{MODEL}.golden.npz", graph).items[:1]
    result = measure(built, device(board, "qemu"), samples, layers=True)
    assert result.arena_bytes + board.stack_bytes < RAM_BYTES
    assert len(result.comparisons) > len(graph.outputs)
    assert result.matches, [c for c in result.comparisons if not c.matches]
