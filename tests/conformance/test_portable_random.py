"""Random layers for every kernel of the libraries of C: under sanitizers, and in a simulator.

The layers of a kernel are put side by side into one graph, so that one program runs them all.
No other kernel than the one under test is offered to them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from random_portable import KERNELS, random_layers
from side_by_side import side_by_side

from uhost import driver
from uhost.config.board import load_board
from uhost.config.pass_context import PassContext
from uhost.config.resolve import preset
from uhost.kernels._kernel import Kernel, library
from uhost.ops._op import evaluate
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.evaluation import compare
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain._toolchain import TOOLCHAINS, Toolchain
from uhost.toolchain.host_cc import HostCc

SAMPLE, BATCH, BATCHES = 8, 50, 6


def check(
    kernel: tuple[str, str],
    layers: int,
    seed: int,
    place: tuple[str, str, Toolchain, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, stem = kernel
    board_name, runner, toolchain, folder = place

    def only(kind: str, asked: str) -> list[tuple[str, Kernel]]:
        one = library(name)[stem]
        return [(stem, one)] if (asked, kind) == (name, one.operator) else []

    monkeypatch.setattr("uhost.kernels._partition.candidates", only)
    graph = side_by_side(random_layers(name, stem, layers, seed))
    board = load_board(board_name)
    config = preset(board)
    config = replace(config, targets=(replace(config.targets[0], libraries=(name,)),))
    # No pass may make another operator of a layer.
    context = PassContext(opt_level=0)
    sources = (Source(graph, "layers", b""),)
    compiled = driver.compile_models(sources, board, config=config, context=context)
    lowered = compiled.models[0].lowered
    assert {selection.name for selection in lowered.selections.values()} == {stem}
    image = toolchain.build(compiled.artifact, board, folder)
    with start(Built(compiled, image, folder), device(board_name, runner)) as executor:
        for number in (1, 2):
            sample = random_sample(lowered.graph, number)
            for index, value in sample.inputs.items():
                executor.set_input(index, value)
            executor.run()
            feeds = {name: sample.inputs[i] for i, name in enumerate(lowered.graph.inputs)}
            expected = evaluate(lowered.graph, feeds)
            for index, output in enumerate(lowered.graph.outputs):
                found = compare(output, "", executor.get_output(index), expected[output])
                assert found.matches, (found, lowered.graph.operators[index])


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("kernel", KERNELS, ids="/".join)
def test_random_layers_under_sanitizers(
    kernel: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("host", "host", HostCc(sanitize=True), tmp_path)
    check(kernel, SAMPLE, 1, place, monkeypatch)


@pytest.mark.full
@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("kernel", KERNELS, ids="/".join)
def test_three_hundred_layers_under_sanitizers(
    kernel: tuple[str, str], batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("host", "host", HostCc(sanitize=True), tmp_path)
    check(kernel, BATCH, 100 + batch, place, monkeypatch)


@pytest.mark.full
@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("kernel", KERNELS, ids="/".join)
def test_random_layers_on_a_cortex_m7(
    kernel: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("mps2_an500", "unicorn", TOOLCHAINS["arm_gcc"], tmp_path)
    check(kernel, 30, 3, place, monkeypatch)
