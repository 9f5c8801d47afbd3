"""What the kernels of C say they cost is what they execute, for every layer of whole models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from uhost import driver
from uhost.config.board import load_board
from uhost.config.resolve import preset
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import library
from uhost.runtime.compiled import Built
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain._toolchain import TOOLCHAINS

INT8, FLOAT = ("reference",), ("fpu", "reference")
MODELS = [
    ("mlperf_kws_int8", "stm32f746", INT8),
    ("mlperf_ad_int8", "stm32f746", INT8),
    ("mlperf_ic_float", "stm32f746", FLOAT),
]
MORE_MODELS = [
    ("mlperf_vww_int8", "stm32f746", INT8),
    ("mlperf_ic_int8", "stm32f746", INT8),
    ("mlperf_vww_float", "stm32f746", FLOAT),
    ("mlperf_ad_float", "mps2_an500", FLOAT),
    ("mlperf_kws_int8", "mps2_an521", INT8),
    ("mlperf_vww_int8", "mps2_an521", INT8),
    ("mlperf_ic_int8", "mps2_an521", INT8),
    ("mlperf_ad_int8", "mps2_an521", INT8),
]
LOOSE = {"softmax": 0.4}
"""What a softmax takes depends on its data: it states a mean."""


def stated_and_measured(
    model: Path, board_name: str, libraries: tuple[str, ...], folder: Path
) -> list[tuple[str, str, int, Cost]]:
    """Returns (operator, kind, instructions, cost) of every operator that needs code."""
    board = load_board(board_name)
    config = preset(board)
    config = replace(config, targets=(replace(config.targets[0], libraries=libraries),))
    compiled = driver.compile_models(driver.load([model]), board, config=config)
    lowered = compiled.models[0].lowered
    image = TOOLCHAINS["arm_gcc"].build(compiled.artifact, board, folder)
    with start(Built(compiled, image, folder), device(board_name, "unicorn")) as executor:
        for index, value in random_sample(lowered.graph, 1).inputs.items():
            executor.set_input(index, value)
        profile = executor.profile()
    found = []
    for operator in lowered.graph.operators:
        if operator.name in lowered.selections:
            selection = lowered.selections[operator.name]
            cost = library(selection.library)[selection.name].cost
            measured = profile[operator.name].instructions
            assert measured is not None
            assert cost is not None, selection.name
            stated = cost(lowered.graph.bind(operator), selection.call)
            found.append((operator.name, operator.kind, measured, stated))
    return found


def check(model: Path, board: str, libraries: tuple[str, ...], folder: Path) -> None:
    rows = stated_and_measured(model, board, libraries, folder)
    share = 0.03 if libraries == INT8 else 0.05
    for name, kind, measured, stated in rows:
        off = abs(stated.work.instructions - measured)
        assert off <= LOOSE.get(kind, share) * measured + 24, (name, measured, stated)
    total = sum(measured for _, _, measured, _ in rows)
    assert abs(sum(cost.work.instructions for *_, cost in rows) - total) <= 0.01 * total


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize(("model", "board", "libraries"), MODELS)
def test_instructions_are_those_executed(
    model: str, board: str, libraries: tuple[str, ...], shared_models: Any, tmp_path: Path
) -> None:
    check(shared_models / f"{model}.tflite", board, libraries, tmp_path)


@pytest.mark.full
@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize(("model", "board", "libraries"), MORE_MODELS)
def test_instructions_are_those_executed_by_all_models(
    model: str, board: str, libraries: tuple[str, ...], shared_models: Any, tmp_path: Path
) -> None:
    check(shared_models / f"{model}.tflite", board, libraries, tmp_path)
