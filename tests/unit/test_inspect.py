"""`uhost inspect --board`: where each operator goes, why not elsewhere, and the memory plan."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from raw_tflite import CODE, A, B, C, RawModel, RawOperator, RawTensor

from uhost import driver
from uhost.cli import cli
from uhost.config.board import load_board
from uhost.errors import ConfigError, UnsupportedOperatorError
from uhost.resources import bundled_model

WHY_NOT = r"refused: .|slower by [\d,]+ cycles \(\+\d+\.\d %\)$"
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
    assert found["order"] == [{"target": "cortex_m", "libraries": ["dsp", "fpu", "reference"]}]
    assert found["arena_bytes"] == lowered.plan.arena_bytes
    assert found["arena_lower_bound_bytes"] == lowered.plan.lower_bound_bytes
    rows = {row["name"]: row for row in found["operators"]}
    assert all(list(row)[-5:] == WORDS for row in rows.values())
    for name, selection in lowered.selections.items():
        assert rows[name]["target"] == "cortex_m"
        assert rows[name]["kernel"] == f"{selection.library}/{selection.name}"
        assert rows[name]["scratch_bytes"] == selection.call.scratch_bytes
    assert (rows["reshape_7"]["target"], rows["reshape_7"]["kernel"]) == (None, "view")
    assert [
        (one["target"], one["library"], one["kernel"], one["reason"])
        for one in rows["conv_2d_0"]["passed_over"]
    ] == [
        ("cortex_m", "dsp", "conv_2d_pointwise_pipelined", "not 1x1 with stride 1"),
        (
            "cortex_m",
            "dsp",
            "conv_2d_gathered_pipelined",
            "a window of less than one or more than 32 words",
        ),
        (
            "cortex_m",
            "dsp",
            "conv_2d_winograd_pipelined",
            "1 input channels, not a multiple of 4 from 16 to 80",
        ),
    ]


def test_variants_say_what_each_kernel_takes_and_why_it_was_not_taken() -> None:
    found = record("--board", "stm32f746", "--variants")["variants"]
    [source] = driver.load(bundled_model())
    [lowered] = driver.lower_models([source.graph], driver.configure(load_board("stm32f746")))
    by_name = {one["operator"]: one["kernels"] for one in found["operators"]}
    assert set(by_name) == set(lowered.selections)
    for name, kernels in by_name.items():
        taken, *others = kernels
        variant = lowered.selections[name].variant
        assert (taken["kernel"], taken["verdict"]) == (variant.place, "taken")
        assert taken["cycles"] == variant.cycles
        assert taken["scratch_bytes"] == variant.call.scratch_bytes
        for other in others:
            verdict = other["verdict"]
            assert re.match(WHY_NOT, verdict), verdict
    total = found["total"]
    assert total["cycles"] == sum(one[0]["cycles"] or 0 for one in by_name.values())
    assert total["flash_bytes"] == total["code_bytes"] + total["constant_bytes"]
    assert total["constant_bytes"] == lowered.constant_bytes()
    assert total["arena_bytes"] == lowered.plan.arena_bytes


def test_variants_are_a_table_with_totals() -> None:
    text = inspect("--board", "stm32f746", "--variants", "--optimize", "size")
    rows = [" ".join(line.split()) for line in text.splitlines()]
    header = "operator kernel cycles instructions code shared weights scratch"
    assert header in rows
    assert any(
        re.match(r"conv_2d_0 reference/conv_2d_blocked ([\d,]+ ){6}taken", row) for row in rows
    )
    assert any(row.startswith("Taken in all: ") for row in rows)


def test_variants_need_a_board() -> None:
    done = CliRunner().invoke(cli, ["inspect", "--variants"])
    assert isinstance(done.exception, ConfigError)
    assert done.exception.what == "--variants is about a board's kernels"


def test_equal_reasons_are_merged() -> None:
    text = inspect("--board", "stm32f746")
    assert "Asked in order: cortex_m (dsp, fpu, reference). The first target that" in text
    rows = [" ".join(line.split()) for line in text.splitlines()]
    refusal = "cortex_m dsp/conv_2d_pointwise_small neither 8 nor 16 input channels"
    assert f"{refusal} conv_2d_2, conv_2d_5" in rows
    assert any(re.match(r"Arena (\d\.\d KiB), lower bound \1", row) for row in rows)
    assert "dsp/" not in inspect("--board", "host")


def test_a_model_need_not_fit_the_board_to_be_inspected(shared_models: Any) -> None:
    path = str(shared_models / "mlperf_vww_int8.tflite")
    [found] = json.loads(inspect(path, "--board", "mps2_an500", "--json"))["results"]
    assert found["arena_bytes"] >= found["arena_lower_bound_bytes"] > 0


@pytest.fixture
def unsupported(tmp_path: Path) -> str:
    """The file of a model whose first operator uhost has and whose second it lacks."""
    model = RawModel(
        [A, B, C, RawTensor("d", (2, 2))],
        [RawOperator(), RawOperator(1, (2,), (3,), "")],
        codes=((CODE.ADD, CODE.ADD, None), (CODE.COS, CODE.COS, None)),
        outputs=(3,),
    )
    path = tmp_path / "cosine.tflite"
    path.write_bytes(model.build())
    return str(path)


def refused(*arguments: str) -> tuple[str, UnsupportedOperatorError]:
    done = CliRunner().invoke(cli, ["inspect", *arguments])
    assert isinstance(done.exception, UnsupportedOperatorError)
    return done.stdout, done.exception


def test_an_unsupported_model_is_shown_with_the_reasons(unsupported: str) -> None:
    shown, error = refused(unsupported, "--board", "stm32f746")
    rows = [re.split(r"  +", line.strip()) for line in shown.splitlines() if line.strip()]
    assert rows[0] == ["index", "operator", "output", "unsupported"]
    assert rows[2:] == [
        ["0", "ADD", "int8[1x4]"],
        ["1", "COS", "int8[2x2]", "'c' is int8, not float32"],
    ]
    assert error.exit_code == 3
    assert error.what.startswith("uhost cannot compile 1 of 2 operators: 1 × COS")


def test_the_unsupported_operators_for_programs(unsupported: str) -> None:
    [found] = json.loads(refused(unsupported, "--json")[0])["results"]
    assert found == {
        "model": "cosine",
        "file_bytes": Path(unsupported).stat().st_size,
        "unsupported": [
            {
                "index": 1,
                "operator": "COS",
                "outputs": ["int8[2x2]"],
                "reason": "'c' is int8, not float32",
            }
        ],
    }
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text()
    table = text.split("An entry of `unsupported`:", 1)[1].split("\n\n")[1]
    assert re.findall(r"^\| `(\w+)`", table, re.M) == list(found["unsupported"][0])
