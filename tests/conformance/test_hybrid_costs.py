"""What hybrid kernels and rescaling concatenations say they cost is what they execute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from side_by_side import instructions
from weighted_layers import Layer

from uhost.config.board import load_board
from uhost.ops import depthwise_conv_2d, fully_connected
from uhost.ops._examples import quantized
from uhost.ops._op import Activation, Padding2D, single
from uhost.ops._weighted_examples import LayerStyle, layer_example
from uhost.ops.concatenation import ConcatenationAttributes

NEAR = 0.03


def connected(
    inputs: int, outputs: int, *, asymmetric: bool = False, per_channel: bool = False
) -> Layer:
    at = fully_connected.FullyConnectedAttributes(Activation.RELU, False, asymmetric)
    infer, style = fully_connected.OPERATOR.infer, LayerStyle(hybrid=True, per_channel=per_channel)
    shapes = (1, inputs), (outputs, inputs)
    name = f"{inputs} to {outputs}"
    example = layer_example(
        name, "fully_connected", at, *shapes, 0, lambda bound: list(infer(bound)), style
    )
    return next(example.graph.bound_operators())


def depthwise(channels: int, window: tuple[int, int], padding: Padding2D) -> Layer:
    at = depthwise_conv_2d.DepthwiseConv2DAttributes((1, 1), (1, 1), padding, Activation.NONE)
    infer, style = depthwise_conv_2d.OPERATOR.infer, LayerStyle(hybrid=True)
    shapes = (1, 8, 8, channels), (1, *window, channels)
    example = layer_example(
        f"{channels} of {window}",
        "depthwise_conv_2d",
        at,
        *shapes,
        3,
        lambda bound: list(infer(bound)),
        style,
    )
    return next(example.graph.bound_operators())


def joined(sizes: tuple[int, ...], blocks: int) -> Layer:
    scales = (0.1, 7), (0.03, -128), (0.7, 0)
    parts = [quantized(f"i{n}", (blocks, size), *scales[n]) for n, size in enumerate(sizes)]
    output = quantized("output", (blocks, sum(sizes)), *scales[0])
    at = ConcatenationAttributes(1, unsigned=True)
    return next(single("joined", "concatenation", at, parts, [output]).bound_operators())


def layers() -> Iterator[Layer]:
    yield connected(32, 16)
    yield connected(200, 50)
    yield connected(33, 16, per_channel=True)
    yield connected(64, 32, asymmetric=True)
    yield depthwise(4, (3, 3), Padding2D())
    yield depthwise(8, (3, 3), Padding2D(1, 1, 1, 1))
    yield depthwise(4, (5, 3), Padding2D())
    yield joined((64, 128), 1)
    yield joined((16, 40, 16), 8)


@pytest.mark.needs("arm_gcc")
def test_stated_and_executed_instructions(tmp_path: Path) -> None:
    found = instructions(list(layers()), load_board("stm32f746"), "unicorn", tmp_path)
    assert len(found) == 9
    for selection, measured in found:
        cost = selection.variant.cost
        assert cost is not None
        assert cost.work.instructions == pytest.approx(measured, rel=NEAR), selection.name
