"""solutions: the same answer with the cache and without, whatever became of its files."""

from __future__ import annotations

import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from uhost import driver
from uhost.numerics import requantization
from uhost.resources import bundled_model, cache_folder
from uhost.solutions import remembered


@dataclass(frozen=True)
class Answer:
    number: int
    payload: bytes


def solver() -> None:
    """Stands for the module whose source is part of the digest."""


class Oracle:
    """Counts how often it is asked."""

    def __init__(self, answer: Answer | None) -> None:
        self.answer = answer
        self.asked = 0

    def __call__(self) -> Answer | None:
        self.asked += 1
        return self.answer

    def ask(self, question: object = (1, [b"x", 2.5], "y")) -> Answer | None:
        return remembered(solver, question, Answer | None, self)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UHOST_CACHE", str(tmp_path / "cache"))


def files() -> list[Path]:
    return sorted((cache_folder() / "solutions").iterdir())


@pytest.mark.parametrize("answer", [Answer(3, b"\0\xff"), None])
def test_an_answer_is_given_again(answer: Answer | None) -> None:
    oracle = Oracle(answer)
    assert [oracle.ask(), oracle.ask()] == [answer, answer]
    assert oracle.asked == 1
    assert len(files()) == 1


def test_other_questions_and_other_solvers_have_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = Oracle(Answer(1, b""))
    oracle.ask((1, 2))
    oracle.ask((1, 3))
    changed = tmp_path / "changed.py"
    changed.write_bytes(Path(__file__).read_bytes() + b"# another search\n")
    monkeypatch.setitem(globals(), "__file__", str(changed))
    oracle.ask((1, 2))
    assert (oracle.asked, len(files())) == (3, 3)


@pytest.mark.parametrize("size", [0, 5, 31, 32, 40, None])
def test_a_damaged_file_is_made_again(size: int | None) -> None:
    oracle = Oracle(Answer(7, b"payload"))
    oracle.ask()
    [path] = files()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"?" if size is None else content[:size])
    assert oracle.ask() == oracle.answer
    assert oracle.asked == 2
    assert path.read_bytes() == content


def test_a_cache_that_is_no_folder_costs_time_alone(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    oracle = Oracle(Answer(7, b"payload"))
    assert [oracle.ask(), oracle.ask()] == [oracle.answer] * 2
    assert oracle.asked == 2


def test_nothing_is_left_when_a_file_cannot_be_put_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", refuse)
    oracle = Oracle(Answer(7, b""))
    assert oracle.ask() == oracle.answer
    assert files() == []


def test_processes_that_ask_the_same_do_not_disturb_one_another() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(ask_often, range(4)))
    assert found == [Answer(9, b"z" * 5000)] * 4
    assert len(files()) == 1


def ask_often(seed: int) -> Answer | None:
    oracle = Oracle(Answer(9, b"z" * 5000))
    for path in [*(cache_folder() / "solutions").glob("*")][: seed % 2]:
        path.unlink(missing_ok=True)
    for _ in range(40):
        answer = oracle.ask()
    return answer


def test_a_model_compiles_to_the_same_bytes_with_old_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = driver.compile_models(driver.load(bundled_model()), "stm32f746")
    assert files()

    def unexpected(*arguments: object) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(requantization, "_searched", unexpected)
    second = driver.compile_models(driver.load(bundled_model()), "stm32f746")
    monkeypatch.undo()
    shutil.rmtree(cache_folder() / "solutions", ignore_errors=True)
    third = driver.compile_models(driver.load(bundled_model()), "stm32f746")
    assert first.artifact.files == second.artifact.files == third.artifact.files


def test_a_remembered_form_is_the_one_that_was_found() -> None:
    stairs = requantization.Staircase(
        multipliers=np.array([1 << 30, 1500000000]),
        right_shifts=np.array([8, 9]),
        zero_point=-128,
        low=-128,
        high=127,
        lowest_sums=np.array([-40000, -9000]),
        highest_sums=np.array([41000, 8000]),
    )
    forms = [requantization.rectified_form(stairs, np.array([1, 0])) for _ in range(2)]
    one, other = forms
    assert one is not None
    assert other is not None
    assert one.shift == other.shift
    for name in ("multipliers", "addends", "bias_changes"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
