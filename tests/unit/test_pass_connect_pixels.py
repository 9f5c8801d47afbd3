"""connect_pixels: a convolution of one pixel is a matrix times a vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawn_graphs import Sketch, kinds, proven

from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Quantization
from uhost.ops._op import Activation, Padding2D
from uhost.ops._weighted import factor_per_channel


@pytest.mark.parametrize("dtype", [DType.INT8, DType.FLOAT32])
@pytest.mark.parametrize("images", [1, 3])
def test_a_convolution_of_one_pixel_is_fully_connected(dtype: DType, images: int) -> None:
    sketch = Sketch(1, (images, 1, 1, 9), dtype)
    sketch.convolution(4, (1, 1), activation=Activation.RELU6)
    graph = sketch.graph()
    after = proven(graph, "connect_pixels")
    [operator] = after.operators
    assert operator.kind == "fully_connected"
    assert operator.name == graph.operators[0].name
    assert after.tensors[operator.inputs[1]].shape == (4, 9)
    assert "w0" not in after.tensors


@pytest.mark.parametrize(
    ("shape", "window", "padding"),
    [
        ((1, 2, 1, 4), (1, 1), Padding2D()),
        ((1, 1, 1, 4), (3, 3), Padding2D(1, 1, 1, 1)),
        ((1, 1, 1, 4), (1, 1), Padding2D(0, 1, 0, 0)),
    ],
)
def test_other_convolutions_stay(
    shape: tuple[int, ...], window: tuple[int, int], padding: Padding2D
) -> None:
    sketch = Sketch(2, shape)
    sketch.convolution(3, window, padding=padding)
    assert kinds(proven(sketch.graph(), "connect_pixels")) == ["conv_2d"]


def one_scale(scale: float) -> Graph:
    """Returns a convolution of one pixel whose weights have one scale."""
    sketch = Sketch(3, (1, 1, 1, 8))
    sketch.convolution(5, (1, 1))
    graph = sketch.graph()
    weights = replace(graph.tensors["w0"], quantization=Quantization((scale,), (0,)))
    return replace(graph, tensors={**graph.tensors, "w0": weights})


def test_one_weight_scale_stays_unless_both_factors_agree() -> None:
    """TFLite rounds s_x · s_w to float32 for FULLY_CONNECTED with one weight scale."""
    seen = set()
    for number in range(20):
        graph = one_scale(float(np.float32(0.003 + number / 7001)))
        [bound] = graph.bound_operators()
        x, weights, y = bound.input(0).scale, bound.input(1).scale, bound.output.scale
        product = np.float32(x) * np.float32(weights)
        agrees = factor_per_channel(bound)[0] == np.float64(product) / np.float64(y)
        assert kinds(proven(graph, "connect_pixels")) == [
            "fully_connected" if agrees else "conv_2d"
        ]
        seen.add(bool(agrees))
    powers = one_scale(2.0**-8)
    assert kinds(proven(powers, "connect_pixels")) == ["fully_connected"]
    assert False in seen
