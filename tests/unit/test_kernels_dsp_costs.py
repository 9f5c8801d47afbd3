"""What the SIMD kernels say they cost is what they execute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bare_kernels import BareKernels
from numpy.typing import NDArray
from random_layers import random_calls

from uhost.kernels._kernel import library

LAYERS = 30
STEMS = [stem for stem in library("dsp").names() if library("dsp")[stem].cost is not None]


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
        feeds: list[NDArray[np.int8]] = [
            rng.integers(-128, 128, x.shape, dtype=np.int8)
            for x in bound.inputs
            if x is not None and not x.is_constant
        ]
        measured = kernels.run(call, feeds, bound.output.size_bytes).instructions
        stated = cost(bound, call).work.instructions
        # The compiler arranges a kernel of few rounds as it likes.
        assert abs(stated - measured) <= 0.03 * measured + 32, (bound, stated, measured)
        all_stated, all_measured = all_stated + stated, all_measured + measured
    assert abs(all_stated - all_measured) <= 0.015 * all_measured


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
    assert abs(stated - measured) <= 0.15 * measured, (stated, measured)
