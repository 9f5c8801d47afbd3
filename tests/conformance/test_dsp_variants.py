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
from weighted_layers import layer

from uhost import driver
from uhost.config.board import load_board
from uhost.ir.graph import Graph
from uhost.kernels._kernel import library
from uhost.ops._op import Activation, Padding2D, evaluate
from uhost.ops._weighted_examples import LayerStyle
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain._toolchain import TOOLCHAINS

LAYERS = 12
RECTIFIED = "depthwise_conv_2d_3x3_rectified"


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("stem", WEIGHTED)
def test_random_layers_are_exact_in_qemu(
    stem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = side_by_side([bound for bound, _ in random_calls(stem, LAYERS, 7)])
    check(stem, graph, tmp_path, monkeypatch)


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("columns", [67, 96, 200])
def test_long_lines_at_stride_2(
    columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two lines back are farther away than the immediate of a load of one word says.
    style = LayerStyle(output_zero_point=-128)
    attributes = DepthwiseConv2DAttributes((2, 2), (1, 1), Padding2D(), Activation.RELU)
    bound = layer("depthwise_conv_2d", attributes, (1, 5, columns, 8), (1, 3, 3, 8), style, "long")
    check(RECTIFIED, side_by_side([bound]), tmp_path, monkeypatch)


def check(stem: str, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only = [(stem, library("dsp")[stem])]
    monkeypatch.setattr("uhost.kernels._partition.candidates", lambda _kind, _library: only)
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
