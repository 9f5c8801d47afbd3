"""What the SIMD kernels say they cost is what they execute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bare_kernels import BareKernels
from numpy.typing import NDArray
from random_layers import random_calls

from uhost.kernels._kernel import library

LAYERS = 30
STEMS = [stem for stem in library("dsp").names() if library("dsp")[stem].cost is not None]


IN_C = {
    "depthwise_conv_2d_direct",
    *("conv_2d", "conv_2d_gathered", "conv_2d_gathered_framed", "conv_2d_winograd"),
    "depthwise_conv_2d",
    *("depthwise_conv_2d_3x3", "depthwise_conv_2d_int16", "depthwise_conv_2d_one_input"),
    *("conv_2d_int16", "conv_2d_grouped", "fully_connected_int16"),
    *("transpose_conv", "transpose_conv_int16"),
}
"""Kernels that search for windows or bring lines in C, which is most of so small a layer.

The compiler knows each layer's numbers and writes other code for each. In layers of real
size that is little: `tests/simulation/test_choice_on_models.py` holds those to 3 %.
"""


def in_c(stem: str) -> bool:
    return stem.removesuffix("_pipelined") in IN_C


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("stem", STEMS)
def test_instructions_are_those_executed(stem: str, tmp_path: Path) -> None:
    layers = random_calls(stem, LAYERS, 5)
    kernels = BareKernels([call for _, call in layers], "arm_gcc", tmp_path)
    cost = library("dsp")[stem].cost
    assert cost is not None
    rng = np.random.default_rng(6)
    all_stated, all_measured = 0, 0
    for bound, call in layers:
        feeds: list[NDArray[Any]] = [
            rng.integers(*x.dtype.limits, x.shape, dtype=x.dtype.numpy, endpoint=True)
            for x in bound.inputs
            if x is not None and not x.is_constant
        ]
        measured = kernels.run(call, feeds, bound.output.size_bytes).instructions
        stated = cost(bound, call).work.instructions
        # The compiler arranges a kernel of few rounds as it likes.
        share, few = (0.20, 512) if in_c(stem) else (0.03, 32)
        assert abs(stated - measured) <= share * measured + few, (bound, stated, measured)
        all_stated, all_measured = all_stated + stated, all_measured + measured
    assert abs(all_stated - all_measured) <= (0.06 if in_c(stem) else 0.015) * all_measured


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("stem", STEMS)
def test_code_is_about_as_long_as_stated(stem: str, tmp_path: Path) -> None:
    layers = random_calls(stem, LAYERS, 5)
    kernels = BareKernels([call for _, call in layers], "arm_gcc", tmp_path)
    cost = library("dsp")[stem].cost
    assert cost is not None
    stated = 0
    for bound, call in layers:
        found = cost(bound, call)
        stated += found.code_bytes
        assert {name.partition("#")[0] for name in found.shared_bytes} <= set(call.includes)
    measured = sum(kernels.code_bytes(call) for _, call in layers)
    share = 0.4 if in_c(stem) else 0.15
    assert abs(stated - measured) <= share * measured + 256, (stated, measured)
