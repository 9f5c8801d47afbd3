"""What the Helium kernels say they take, beside what QEMU counts, for layers of real models."""

from __future__ import annotations

from pathlib import Path

import pytest

from uhost import driver
from uhost.kernels._kernel import library
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample

BOARD = "mps3_an547"
TOLERANCE = 0.03
BUDGETS = {"kws": 800_000, "vww": 1_600_000, "ic": 2_200_000, "ad": 80_000}
# Of the shortest layers, 3 % are less than what a compiler may do about a call.
FEW = 3


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("name", BUDGETS)
def test_layers_of_mlperf_models_cost_what_they_say(shared_models: Path, name: str) -> None:
    model = driver.load(shared_models / f"mlperf_{name}_int8.tflite")
    built = driver.link(driver.compile_models(model, BOARD), "arm_gcc")
    lowered = built.compiled.models[0].lowered
    with start(built, device(BOARD, "qemu")) as executor:
        for index, value in random_sample(lowered.graph, 1).inputs.items():
            executor.set_input(index, value)
        executor.watch()
        executor.run()
        counts = executor.counts()
    assert counts is not None
    assert counts.total < BUDGETS[name]
    layers = [b for b in lowered.graph.bound_operators() if b.name in lowered.selections]
    stated = {}
    for bound, counted in zip(layers, counts.calls, strict=True):
        selection = lowered.selections[bound.name]
        if selection.library != "mve":  # of two classes another softmax may be the shorter one
            assert bound.kind == "softmax", bound.name
            continue
        cost = library("mve")[selection.name].cost
        assert cost is not None, selection.name
        instructions = cost(bound, selection.call).work.instructions
        if abs(instructions - counted) > max(FEW, TOLERANCE * counted):
            stated[bound.name] = (selection.name, instructions, counted)
    assert stated == {}
