"""TRANSPOSE_CONV: the convolution it transposes, and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from build_tflite import Node, build
from weighted_layers import layer

from uhost.errors import MalformedModelError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.tensor import Tensor
from uhost.ops._op import OPERATORS, Activation
from uhost.ops._weighted_examples import LayerStyle
from uhost.ops.transpose_conv import TransposeConvAttributes, window_axes

FLOATS = LayerStyle(dtype=DType.FLOAT32, with_bias=False)


def attributes(
    size: tuple[int, int], stride: tuple[int, int] = (2, 2), before: tuple[int, int] = (0, 0)
) -> TransposeConvAttributes:
    return TransposeConvAttributes(stride, before, size, Activation.NONE)


def test_every_input_pixel_adds_its_window() -> None:
    bound = layer("transpose_conv", attributes((5, 4), (2, 1), (1, 0)), X, WEIGHTS, FLOATS)
    x = np.random.default_rng(1).normal(size=X).astype(np.float32)
    weights = bound.input(1).constant()
    expected = np.zeros((1, 5, 4, 2), np.float32)
    for y, column in np.ndindex(2, 3):
        for ky, kx in np.ndindex(3, 2):
            row, place = 2 * y - 1 + ky, column + kx
            if 0 <= row < 5 and place < 4:
                expected[0, row, place] += weights[:, ky, kx] @ x[0, y, column]
    found = OPERATORS["transpose_conv"].reference(bound, [x, weights, None])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    rows, columns = window_axes(bound)
    assert (rows.output, columns.output) == (2, 3)


X, WEIGHTS = (1, 2, 3, 4), (2, 3, 2, 4)


@pytest.mark.parametrize(
    ("wrong", "weights", "message"),
    [
        (attributes((5, 7), stride=(0, 1)), WEIGHTS, "stride 0x1 is out of range"),
        (attributes((0, 7)), WEIGHTS, "output 0x7 is out of range"),
        (attributes((5, 7), before=(-1, 0)), WEIGHTS, "padding (-1, 0) is out of range"),
        (
            attributes((5, 7)),
            (2, 3, 2, 3),
            "weights for 3 input channels do not match an input of 4 channels",
        ),
    ],
)
def test_refusals(
    wrong: TransposeConvAttributes, weights: tuple[int, int, int, int], message: str
) -> None:
    with pytest.raises(MalformedModelError, match=re.escape(message)):
        layer("transpose_conv", wrong, X, weights, FLOATS)


@pytest.mark.parametrize(
    ("options", "inputs", "output", "message"),
    [
        (None, ("shape", "weights", "x"), (1, 5, 7, 2), "the operator has no options"),
        ({}, ("shape", "weights"), (1, 5, 7, 2), "the operator takes a shape, weights, an input"),
        ({}, ("shape", "weights", ""), (1, 5, 7, 2), "weights or input are missing"),
        ({}, ("shape", "weights", "x"), (5, 7, 2), "weights and output should have rank 4"),
    ],
)
def test_damaged_files(
    options: dict[str, int] | None, inputs: tuple[str, ...], output: tuple[int, ...], message: str
) -> None:
    tensors = [
        Tensor("shape", (4,), DType.INT32, None, np.array([1, 5, 7, 2], np.int32)),
        Tensor("weights", WEIGHTS, DType.FLOAT32, None, np.zeros(WEIGHTS, np.float32)),
        Tensor("x", X, DType.FLOAT32),
        Tensor("y", output, DType.FLOAT32),
    ]
    content = build(tensors, [Node("TRANSPOSE_CONV", inputs, ("y",), options)], ["x"], ["y"])
    with pytest.raises(MalformedModelError, match=re.escape(message)):
        FRONTEND.load(content, "model")
