"""The arena over the schedule: the letters, the legend, the SVG, and the verb that shows them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from uhost import driver, resources
from uhost.cli.inspect import command
from uhost.report import memory

RECORD = {
    "arena_bytes": 64,
    "arena_lower_bound_bytes": 64,
    "pool": "ram",
    "operators": [{"name": "conv_2d_0"}, {"name": "add_1"}],
    "memory": [
        {"name": "x", "role": "input", "offset": 0, "size_bytes": 32, "first": 0, "last": 0},
        {"name": "y", "role": "output", "offset": 16, "size_bytes": 32, "first": 0, "last": 1},
        {
            "name": "conv_2d_0:scratch",
            "role": "scratch",
            "offset": 48,
            "size_bytes": 16,
            "first": 0,
            "last": 0,
        },
    ],
    "shared": [{"read": "x", "written": "y", "shared_bytes": 16}],
    "peak": {"step": 0, "operator": "conv_2d_0", "blocks": ["x", "y", "conv_2d_0:scratch"]},
}


def test_letters_take_turns_where_bytes_are_shared() -> None:
    assert memory.draw(RECORD, 16).splitlines() == [
        "   0.1 KiB ==··",
        "   0.1 KiB ==··",
        "   0.0 KiB BBBB",
        "   0.0 KiB BBBB",
        "   0.0 KiB ABBB",
        "   0.0 KiB ABBB",
        "   0.0 KiB AA··",
        "   0.0 KiB AA··",
        "      step 0",
        "      peak ^^",
    ]


def test_the_line_names_who_makes_the_peak() -> None:
    assert memory.peak_line(RECORD) == (
        "Arena 0.1 KiB in ram, lower bound 0.1 KiB. Peak at step 0 (conv_2d_0): "
        "A 0.0 KiB, B 0.0 KiB, = 0.0 KiB"
    )


def test_the_legend_says_whose_bytes_are_run_over() -> None:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(memory.legend(RECORD))
    assert "B   y                      32       16   0-1     A, 16 B" in capture.get()


def test_the_record_is_that_of_the_plan() -> None:
    compiled = driver.compile_models(driver.load(resources.bundled_model()), "stm32f746")
    lowered = compiled.models[0].lowered
    record = memory.memory_record(lowered)
    assert record["shared"]
    for one in record["shared"]:
        assert one["shared_bytes"] > 0
    assert record["peak"]["step"] == lowered.plan.peak_step()


def test_the_picture_is_svg_that_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.svg"
    arguments = [str(resources.bundled_model()), "--board", "stm32f746", "--memory"]
    result = CliRunner().invoke(command, [*arguments, "-o", str(path), "--json"])
    assert result.exit_code == 0, result.output
    (record,) = json.loads(result.output)["results"]
    root = ET.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    tiles = root.findall(".//{*}rect[@class]")
    assert len([t for t in tiles if t.get("class", "").startswith("tile")]) == len(record["memory"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory"], "a memory plan is made for a board"),
        (["--board", "stm32f746", "-o", "x.svg"], "-o is for the picture of --memory"),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(command, [str(resources.bundled_model()), *arguments])
    assert message in str(result.exception)
