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


def placed(case: Case, stated: Overlap, closer: int) -> Case:
    """Returns the case with its input so many bytes beyond the limit, anywhere without one."""
    assert stated.most is None
    least = stated.least
    if least is None:
        least = case.output_bytes // 2 - case.inputs[stated.input].nbytes // 2
    return replace(case, displaced=(stated.input, least - closer))


def check(stem: str, count: int, seed: int, compiler: str, folder: Path) -> None:
    drawn: list[tuple[Layer, Case, Overlap]] = [
        (bound, case, stated)
        for bound, case in cases(stem, count, seed)
        for stated in case.call.overlaps
    ]
    assert len(drawn) * 2 >= count, "most layers may share bytes"
    limited = [(bound, case, stated) for bound, case, stated in drawn if stated.least is not None]
    at_limit = [placed(case, stated, 0) for _, case, stated in drawn]
    beyond = [placed(case, stated, 1) for _, case, stated in limited]
    results = run_all([*at_limit, *beyond], compiler, folder)
    for (bound, case, stated), result in zip(drawn, results[: len(drawn)], strict=True):
        shapes = (stated, [t and t.shape for t in bound.inputs], bound.attributes)
        assert np.array_equal(result, exact(bound, case.inputs)), shapes
    wrong = [
        not np.array_equal(result, exact(bound, case.inputs))
        for (bound, case, _), result in zip(limited, results[len(drawn) :], strict=True)
    ]
    assert any(wrong)


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
