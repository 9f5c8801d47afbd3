"""What the Helium kernels say they take, beside what QEMU counts, for layers of real models."""

from __future__ import annotations

from pathlib import Path

import pytest
from side_by_side import side_by_side
from weighted_layers import VECTOR, conv, layer

from uhost import driver
from uhost.kernels._kernel import library
from uhost.ops._op import Activation, Padding2D
from uhost.ops._weighted_examples import INT16, INT16_NARROW
from uhost.ops.transpose_conv import TransposeConvAttributes
from uhost.runtime.compiled import Built, Source
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
    assert check(built) < BUDGETS[name]


@pytest.mark.needs("arm_gcc", "qemu")
def test_transposed_convolutions_cost_what_they_say() -> None:
    relu, none = Activation.RELU, Activation.NONE
    layers = [
        layer("transpose_conv", TransposeConvAttributes(*geometry), x, weights)
        for geometry, x, weights in (
            (((2, 2), (0, 0), (16, 16), relu), (1, 8, 8, 16), (16, 2, 2, 16)),
            (((2, 2), (1, 1), (24, 24), none), (1, 12, 12, 12), (6, 4, 4, 12)),
            (((1, 2), (0, 1), (1, 80), none), (1, 1, 40, 24), (24, 1, 4, 24)),
            (((1, 1), (1, 1), (10, 10), none), (1, 10, 10, 24), (12, 3, 3, 24)),
        )
    ]
    source = Source(side_by_side(layers), "layers", b"")
    check(driver.link(driver.compile_models((source,), BOARD), "arm_gcc"))


@pytest.mark.needs("arm_gcc", "qemu")
def test_layers_of_halfwords_cost_what_they_say() -> None:
    layers = [
        one
        for style in (INT16, INT16_NARROW)
        for one in (
            conv((1, 8, 8, 16), (16, 3, 3, 16), padding=Padding2D(1, 1, 1, 1), style=style),
            conv((1, 8, 8, 16), (16, 3, 3, 16), style=style),
            conv((1, 1, 40, 16), (8, 1, 4, 16), style=style),
            layer("fully_connected", VECTOR, (1, 128), (64, 128), style),
        )
    ]
    source = Source(side_by_side(layers), "layers", b"")
    check(driver.link(driver.compile_models((source,), BOARD), "arm_gcc"))


def check(built: Built) -> int:
    """Compares what each operator states with what QEMU counts; returns the sum."""
    lowered = built.compiled.models[0].lowered
    with start(built, device(BOARD, "qemu")) as executor:
        for index, value in random_sample(lowered.graph, 1).inputs.items():
            executor.set_input(index, value)
        executor.watch()
        executor.run()
        counts = executor.counts()
    assert counts is not None
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
    return counts.total
