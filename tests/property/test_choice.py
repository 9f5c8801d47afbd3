"""The choice of kernels is the best there is: compared with every combination of small cases."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from random import Random

import pytest

from uhost.config.compilation import Optimize
from uhost.kernels import _choice
from uhost.kernels._choice import Aim, Option, choose, flash_bytes

AIMS: tuple[Optimize, ...] = ("speed", "balanced", "size")
CASES = 150
SHARED = "abcdefg"


def drawn(random: Random) -> list[list[Option]]:
    """Up to six operators of up to four options, which share up to seven pieces of code."""
    operators: list[list[Option]] = []
    for index in range(random.randint(1, 6)):
        options = []
        for number in range(random.randint(1, 4)):
            pieces = random.sample(SHARED, random.randint(0, 3))
            needs: dict[Hashable, int] = {one: 7 * (1 + SHARED.index(one)) for one in pieces}
            needs[index, number] = random.randint(0, 40)
            options.append(Option(random.randint(0, 60), needs))
        operators.append(options)
    return operators


def best_score(operators: Sequence[Sequence[Option]], aim: Aim) -> float | None:
    """The least of what is made small, over all combinations that fit."""
    scores = []
    for picks in itertools.product(*(range(len(options)) for options in operators)):
        flash = flash_bytes(operators, picks)
        if aim.fits(flash):
            cycles = sum(o[j].cycles for o, j in zip(operators, picks, strict=True))
            scores.append(aim.score(cycles, flash)[0])
    return min(scores, default=None)


@pytest.mark.parametrize("optimize", AIMS)
def test_no_combination_is_better(optimize: Optimize) -> None:
    random = Random(7)
    refused = 0
    for _ in range(CASES):
        operators = drawn(random)
        aim = Aim(optimize, random.choice([None, random.randint(0, 200)]), random.randint(0, 30))
        found, best = choose(operators, aim), best_score(operators, aim)
        assert (found is None) == (best is None)
        if found is None:
            refused += 1
            continue
        assert aim.fits(found.flash_bytes)
        assert found.flash_bytes == flash_bytes(operators, found.picks)
        assert found.cycles == sum(o[j].cycles for o, j in zip(operators, found.picks, strict=True))
        assert aim.score(found.cycles, found.flash_bytes)[0] == best
        assert found.gap == 0
    assert 0 < refused < CASES // 2


@pytest.mark.parametrize("optimize", AIMS)
def test_where_labels_are_dropped_the_best_is_within_the_gap(
    optimize: Optimize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_choice, "MOST_LABELS", 2)
    random = Random(8)
    inexact = 0
    for _ in range(CASES):
        operators = drawn(random)
        aim = Aim(optimize, None if optimize != "speed" else 120, 5)
        found, best = choose(operators, aim), best_score(operators, aim)
        if found is None or best is None:
            continue
        score = aim.score(found.cycles, found.flash_bytes)[0]
        assert best <= score
        assert best >= score * (1 - found.gap) - 1e-9
        inexact += found.gap > 0
    assert inexact or optimize == "size"


def test_many_operators_are_chosen_quickly_and_exactly() -> None:
    random = Random(9)
    operators = [
        [
            Option(
                random.randint(20_000, 500_000) // (1 + number),
                {
                    ("function", random.randint(0, 6)): 600,
                    ("piece", random.randint(0, 6)): 900,
                    (index, number): random.randint(500, 5_000) * (1 + number),
                },
            )
            for number in range(3)
        ]
        for index in range(40)
    ]
    smallest, fastest = (choose(operators, Aim(one)) for one in ("size", "speed"))
    assert smallest is not None
    assert fastest is not None
    limit = (smallest.flash_bytes + fastest.flash_bytes) // 2
    between = choose(operators, Aim("speed", limit))
    assert between is not None
    assert between.gap == 0
    assert between.flash_bytes <= limit
    assert fastest.cycles < between.cycles < smallest.cycles
