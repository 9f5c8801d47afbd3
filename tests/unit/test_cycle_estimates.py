"""Cycles of stated work, against sums done by hand."""

from __future__ import annotations

import pytest

from uhost.targets._cycles import cycle_model
from uhost.targets._work import Work

# The K step of a 2x4 tile: two LDRD, eight SMLAD, two SXTB16.
TILE = Work(multiply=8, alu=2, load_many=2, words=4)


@pytest.mark.parametrize(
    ("cpu", "work", "cycles"),
    [
        ("cortex-m4", TILE, 8 + 2 + (1 + 2) + (1 + 2)),
        ("cortex-m4", Work(load=4), 2 + 1 + 2 + 1),
        ("cortex-m4", Work(divide=1, store=2, branch=1, untaken=1), 7 + 2 + 3 + 1),
        ("cortex-m4", Work(float_alu=2, float_multiply=2), 2 + 2 * 3),
        ("cortex-m3", Work(multiply=3), 6),
        ("cortex-m33", TILE, 16),
        ("cortex-m33+nodsp", Work(alu=3), 3),
        ("cortex-m0plus", Work(load=2, store=1, branch=1), 4 + 2 + 2),
        ("cortex-m0", Work(load=2, store=1, branch=1), 4 + 2 + 3),
        # Two words a cycle alone, then ten instructions of which a fifth finds a partner.
        ("cortex-m7", TILE, 2 + 9),
        ("cortex-m7", Work(alu=10, load=10), 18),
        # The one MAC pipe is the limit.
        ("cortex-m7", Work(multiply=20, alu=2), 20),
        ("cortex-m7", Work(divide=1), 7),
        # Sixty loads and eighty products, two beats each, in two pipes that overlap at times.
        ("cortex-m55", Work(vector_load=60, vector_multiply=80), 160 * 145 // 100),
        ("cortex-m55", Work(vector_load=20, vector_alu=20, vector_multiply=20, alu=1), 1 + 87),
        # A branch and the end of a low-overhead loop, which costs nothing.
        ("cortex-m55", Work(branch=2, untaken=1), 4 + 1),
    ],
)
def test_estimate(cpu: str, work: Work, cycles: int) -> None:
    model = cycle_model(cpu)
    assert model is not None
    assert model.estimate(work) == cycles


def test_work_adds_up() -> None:
    for cpu in ("cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m55"):
        model = cycle_model(cpu)
        assert model is not None
        assert abs(model.estimate(1000 * TILE) / (1000 * model.estimate(TILE)) - 1) < 0.1
        assert model.estimate(Work()) == 0


@pytest.mark.parametrize("cpu", ["", "rv32imac", "cortex-m85", "x86_64"])
def test_no_model(cpu: str) -> None:
    assert cycle_model(cpu) is None
