"""Firmware for a Cortex-M85, built by both compilers and run on QEMU's Cortex-M55.

QEMU has no Cortex-M85. Its instructions, but for pointer authentication, are those of the
Cortex-M55, so what is built for it has to give the same there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from uhost import driver, resources
from uhost.config.board import load_board
from uhost.ops._op import evaluate
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.targets._target import TARGETS

BOARD = "mps3_an547"


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("toolchain", ["arm_gcc", "zig"])
def test_its_code_is_exact_on_the_instructions_it_shares(toolchain: str) -> None:
    target = TARGETS["cortex_m"].target("cortex-m85", "double")
    assert target.libraries[0] == "mve"
    board = replace(load_board(BOARD), target=target)
    compiled = driver.compile_models(driver.load(resources.bundled_model()), board)
    lowered = compiled.models[0].lowered
    assert {s.library for s in lowered.selections.values()} >= {"mve"}
    sample = random_sample(lowered.graph, 1)
    with start(driver.link(compiled, toolchain), device(BOARD, "qemu")) as executor:
        for index, value in sample.inputs.items():
            executor.set_input(index, value)
        executor.run()
        found = executor.get_output(0)
    graph = lowered.graph
    inputs = {name: sample.inputs[index] for index, name in enumerate(graph.inputs)}
    assert np.array_equal(found, evaluate(graph, inputs)[graph.outputs[0]])
