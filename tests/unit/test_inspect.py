"""`uhost inspect --board`: where each operator goes, why not elsewhere, and the memory plan."""

from __future__ import annotations

import json
import re
from typing import Any

from click.testing import CliRunner

from uhost import driver
from uhost.cli import cli
from uhost.config.board import load_board
from uhost.resources import bundled_model

WORDS = "target kernel forced scratch_bytes passed_over".split()


def inspect(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["inspect", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def record(*arguments: str) -> dict[str, Any]:
    [found] = json.loads(inspect(str(bundled_model()), "--json", *arguments))["results"]
    assert isinstance(found, dict)
    return found


def test_without_a_board_nothing_is_placed() -> None:
    assert not {"board", "order", "arena_bytes"} & record().keys()
    assert not set(WORDS) & record()["operators"][0].keys()
    assert "Asked in order" not in inspect()


def test_a_board_adds_places_and_the_plan() -> None:
    board = load_board("stm32f746")
    [source] = driver.load(bundled_model())
    [lowered] = driver.lower_models([source.graph], driver.configure(board))
    found = record("--board", "stm32f746")
    assert list(found)[-4:] == ["board", "order", "arena_bytes", "arena_lower_bound_bytes"]
    assert found["board"] == "stm32f746"
    assert found["order"] == [{"target": "cortex_m", "libraries": ["dsp", "reference"]}]
    assert found["arena_bytes"] == lowered.plan.arena_bytes
    assert found["arena_lower_bound_bytes"] == lowered.plan.lower_bound_bytes
    rows = {row["name"]: row for row in found["operators"]}
    assert all(list(row)[-5:] == WORDS for row in rows.values())
    for name, selection in lowered.selections.items():
        assert rows[name]["target"] == "cortex_m"
        assert rows[name]["kernel"] == f"{selection.library}/{selection.name}"
        assert rows[name]["scratch_bytes"] == selection.call.scratch_bytes
    assert (rows["reshape_7"]["target"], rows["reshape_7"]["kernel"]) == (None, "view")
    assert {
        "target": "cortex_m",
        "library": "dsp",
        "kernel": "conv_2d_pointwise",
        "reason": "not 1x1 with stride 1",
    } in rows["conv_2d_0"]["passed_over"]


def test_equal_reasons_are_merged() -> None:
    text = inspect("--board", "stm32f746")
    assert "Asked in order: cortex_m (dsp, reference). The first that takes an" in text
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "cortex_m dsp no kernel for this operator softmax_9" in rows
    assert any(re.match(r"Arena (\d\.\d KiB), lower bound \1", row) for row in rows)
    assert "passed over" not in inspect("--board", "host")


def test_a_model_need_not_fit_the_board_to_be_inspected(shared_models: Any) -> None:
    path = str(shared_models / "mlperf_vww_int8.tflite")
    [found] = json.loads(inspect(path, "--board", "mps2_an500", "--json"))["results"]
    assert found["arena_bytes"] >= found["arena_lower_bound_bytes"] > 0
