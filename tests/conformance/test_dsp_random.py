"""Hundreds of random layers for every variant of the SIMD library, between canaries.

`random_layers` draws them: odd channels, single pixels, windows larger than the image, strides
above the window, any padding, dilation, extreme weights, biases and shifts. Memory around all
buffers is noise that a kernel may not change. Without --all ten layers run of each variant,
in other tests many more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bare_kernels import BareKernels
from random_layers import random_calls

from uhost.kernels._kernel import library
from uhost.ops._op import OPERATORS

LAYERS = 300
BATCH = 60


def check(stem: str, count: int, seed: int, compiler: str, folder: Path) -> None:
    """Runs `count` layers, `BATCH` of them per program, on three inputs each."""
    rng = np.random.default_rng(seed)
    layers = random_calls(stem, count, seed)
    for first in range(0, count, BATCH):
        batch = layers[first : first + BATCH]
        kernels = BareKernels([call for _, call in batch], compiler, folder)
        for bound, call in batch:
            tensors = [x for x in bound.inputs if x is not None and not x.is_constant]
            constants = [x.constant() for x in bound.inputs if x is not None and x.is_constant]
            for way in range(3):
                feeds = []
                for x in tensors:
                    low, high = x.dtype.limits
                    values = (
                        rng.integers(low, high, x.shape, endpoint=True)
                        if way == 0
                        else rng.choice([low, high], x.shape)
                        if way == 1
                        else np.full(x.shape, low)
                    )
                    feeds.append(values.astype(x.dtype.numpy))
                exact = OPERATORS[bound.kind].reference(bound, [*feeds, *constants])[0]
                result = kernels.run(call, feeds, bound.output.size_bytes)
                found = result.output.view(bound.output.dtype.numpy)
                assert np.array_equal(found, exact.reshape(-1)), bound


STEMS = library("dsp").names()


@pytest.mark.parametrize("stem", STEMS)
def test_ten_layers(stem: str, tmp_path: Path) -> None:
    check(stem, 10, 20, "zig", tmp_path)


@pytest.mark.full
@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("stem", STEMS)
def test_three_hundred_layers(stem: str, tmp_path: Path) -> None:
    check(stem, LAYERS, 21, "arm_gcc", tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("stem", STEMS)
def test_a_hundred_layers_by_clang(stem: str, tmp_path: Path) -> None:
    check(stem, 100, 22, "zig", tmp_path)
