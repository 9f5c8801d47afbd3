"""The generated C of every variant of the SIMD library, with the shared pieces it uses.

After a change that is meant, run the tests with UHOST_UPDATE_GOLDEN=1 and read the
difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from weighted_layers import VECTOR, Layer, conv, depthwise, layer

from uhost.codegen.environment import render, render_include
from uhost.kernels._kernel import library
from uhost.ops._op import Activation, Padding2D
from uhost.ops._weighted_examples import INT16, LayerStyle
from uhost.ops.transpose_conv import TransposeConvAttributes

FOLDER = Path(__file__).resolve().parent / "dsp"
RELU = {"activation": Activation.RELU, "style": LayerStyle(output_zero_point=-128)}
SAME = Padding2D(1, 1, 1, 1)
TILED = conv((1, 4, 4, 16), (4, 3, 3, 16), padding=SAME, **RELU)
LAYERS: dict[str, Layer] = {
    "conv_2d": conv((1, 5, 6, 8), (6, 3, 3, 8), padding=SAME, **RELU),
    "conv_2d_gathered": conv((1, 5, 5, 3), (6, 3, 3, 3), padding=SAME, **RELU),
    "conv_2d_grouped": conv((1, 4, 5, 16), (12, 3, 3, 8), padding=SAME),
    "conv_2d_gathered_framed": conv((1, 7, 3, 1), (6, 4, 3, 1), padding=SAME, **RELU),
    "conv_2d_int16": conv((1, 4, 4, 3), (6, 3, 3, 3), padding=SAME, style=INT16),
    "conv_2d_pointwise": conv((1, 3, 3, 24), (6, 1, 1, 24)),
    "conv_2d_pointwise_pipelined": conv((1, 3, 3, 24), (6, 1, 1, 24)),
    "conv_2d_pointwise_small": conv((1, 3, 3, 8), (6, 1, 1, 8), **RELU),
    "conv_2d_winograd": TILED,
    "conv_2d_winograd_pipelined": TILED,
    "depthwise_conv_2d": depthwise((1, 5, 5, 6), (1, 5, 2, 6)),
    "depthwise_conv_2d_3x3": depthwise((1, 5, 5, 6), (1, 3, 3, 6), padding=SAME),
    "depthwise_conv_2d_3x3_rectified": depthwise((1, 5, 5, 6), (1, 3, 3, 6), padding=SAME, **RELU),
    "fully_connected_pipelined": layer(
        "fully_connected", VECTOR, (1, 21), (8, 21), LayerStyle(output_zero_point=-128)
    ),
    "depthwise_conv_2d_int16": depthwise((1, 4, 5, 5), (1, 3, 3, 5), padding=SAME, style=INT16),
    "depthwise_conv_2d_strips": depthwise(
        (1, 6, 9, 6), (1, 5, 5, 6), padding=Padding2D(2, 2, 2, 2), **RELU
    ),
    "fully_connected_uniform": layer(
        "fully_connected", VECTOR, (1, 21), (6, 21), LayerStyle(per_channel=False)
    ),
    "transpose_conv": layer(
        "transpose_conv",
        TransposeConvAttributes((2, 2), (0, 0), (6, 8), Activation.NONE),
        (1, 3, 4, 8),
        (6, 3, 3, 8),
    ),
    "transpose_conv_int16": layer(
        "transpose_conv",
        TransposeConvAttributes((2, 2), (0, 0), (6, 8), Activation.NONE),
        (1, 3, 4, 5),
        (6, 3, 3, 5),
        INT16,
    ),
}


@pytest.mark.parametrize("stem", LAYERS)
def test_variant(stem: str) -> None:
    kernel = library("dsp")[stem]
    assert kernel.supports(LAYERS[stem]) == ""
    call = kernel.lower(LAYERS[stem])
    parameters = ", ".join(f"{p.ctype}{p.name}" for p in call.parameters)
    values = {"name": stem, "signature": f"static void {stem}({parameters})", "p": call.values}
    pieces = [render_include(include) for include in sorted(call.includes)]
    text = "\n".join([*pieces, render(f"kernels/dsp/{call.template}.c.j2", values)])
    path = FOLDER / f"{stem}.c"
    if os.environ.get("UHOST_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, f"{path.name}: see this file's docstring"


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(LAYERS)
