"""Random layers for every variant of the SIMD library, in a simulator that faults on misalignment.

The layers of a variant are put side by side into one graph, so that one image runs them all;
no other variant is on offer.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_layers import WEIGHTED, random_calls
from side_by_side import side_by_side

from uhost import driver
from uhost.config.board import load_board
from uhost.kernels._kernel import library
from uhost.ops._op import evaluate
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain._toolchain import TOOLCHAINS

LAYERS = 12


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("stem", WEIGHTED)
def test_random_layers_are_exact_in_qemu(
    stem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = [(stem, library("dsp")[stem])]
    monkeypatch.setattr("uhost.kernels._partition.candidates", lambda _kind, _library: only)
    graph = side_by_side([bound for bound, _ in random_calls(stem, LAYERS, 7)])
    board = load_board("mps2_an500")
    compiled = driver.compile_models((Source(graph, "layers", b""),), board)
    lowered = compiled.models[0].lowered
    assert {selection.name for selection in lowered.selections.values()} == {stem}
    image = TOOLCHAINS["arm_gcc"].build(compiled.artifact, board, tmp_path)
    where = replace(device(board.name, "qemu"), board=board)
    with start(Built(compiled, image, tmp_path), where) as executor:
        sample = random_sample(lowered.graph, 1)
        for index, value in sample.inputs.items():
            executor.set_input(index, value)
        executor.run()
        feeds = {name: sample.inputs[i] for i, name in enumerate(lowered.graph.inputs)}
        exact = evaluate(lowered.graph, feeds)
        for index, name in enumerate(lowered.graph.outputs):
            assert np.array_equal(executor.get_output(index), exact[name]), name
