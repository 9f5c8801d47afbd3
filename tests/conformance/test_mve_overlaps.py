"""By how much Helium kernels say an output may run into an input, tried out byte by byte in QEMU.

Each layer runs with its input as close to its output as the kernel allows, and one byte closer:
there, for some of the layers, an input byte is overwritten before its last read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helium_kernels import COMPILERS, Case, run_all
from numpy.typing import NDArray
from test_mve_random import LAYERS, cases
from weighted_layers import Layer, expected

from uhost.kernels._overlap import Overlap

COUNT, FULL_COUNT = 12, 60


def at_limits(case: Case, stated: Overlap) -> list[Case]:
    """Returns the case with its input at each limit, or over the middle where there is none."""
    limits = {stated.least, stated.most} - {None}
    middle = case.output_bytes // 2 - case.inputs[stated.input].nbytes // 2
    return [replace(case, displaced=(stated.input, n)) for n in limits or {middle} if n is not None]


def beyond_limits(case: Case, stated: Overlap) -> list[Case]:
    """Returns the case with its input a byte beyond each limit."""
    limits = [] if stated.least is None else [stated.least - 1]
    limits += [] if stated.most is None else [stated.most + 1]
    return [replace(case, displaced=(stated.input, n)) for n in limits]


def check(stem: str, count: int, seed: int, compiler: str, folder: Path) -> None:
    drawn: list[tuple[Layer, Case, Overlap]] = [
        (bound, case, stated)
        for bound, case in cases(stem, count, seed)
        for stated in case.call.overlaps
    ]
    assert len(drawn) * 2 >= count, "most layers may share bytes"
    within = [(b, one) for b, case, stated in drawn for one in at_limits(case, stated)]
    beyond = [(b, one) for b, case, stated in drawn for one in beyond_limits(case, stated)]
    results = run_all([case for _, case in (*within, *beyond)], compiler, folder)
    right = [
        np.array_equal(result, exact(bound, case.inputs))
        for (bound, case), result in zip((*within, *beyond), results, strict=True)
    ]
    for (bound, case), is_right in zip(within, right, strict=False):
        shapes = (case.displaced, [t and t.shape for t in bound.inputs], bound.attributes)
        assert is_right, shapes
    assert not all(right[len(within) :])


def exact(bound: Layer, inputs: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return expected(bound, *inputs).reshape(-1).view(np.int8)


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("stem", LAYERS)
def test_outputs_run_into_inputs_as_far_as_stated(stem: str, tmp_path: Path) -> None:
    check(stem, COUNT, 100, "arm_gcc", tmp_path)


@pytest.mark.full
@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("stem", LAYERS)
def test_many_outputs_run_into_inputs_as_far_as_stated(
    stem: str, compiler: str, tmp_path: Path
) -> None:
    check(stem, FULL_COUNT, 101, compiler, tmp_path)
