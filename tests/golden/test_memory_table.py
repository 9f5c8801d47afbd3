"""The table of RAM in docs/benchmarks.md, as its generator makes it of the bundled model."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from uhost import resources

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def make_memory() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("make_memory", ROOT / "docs" / "make_memory.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where the decorator of its dataclasses looks
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.needs("arm_gcc")
def test_a_row_tells_what_both_modes_take(make_memory: ModuleType) -> None:
    model = resources.bundled_model()
    one = make_memory.pair(model, model.with_suffix(".npz"))
    assert one.exact
    assert one.ram.model_ram_bytes < one.speed.model_ram_bytes
    assert one.ratio == one.ram.instructions / one.speed.instructions < 1.5
    cells = make_memory.row("digits", one, "last").strip("| ").split(" | ")
    assert cells[0] == "digits"
    assert cells[1:3] == [f"{e.model_ram_bytes / 1024:.1f}" for e in (one.speed, one.ram)]
    assert cells[3:5] == [f"{e.instructions:,}" for e in (one.speed, one.ram)]
    assert cells[5:] == [f"{one.ratio:.2f}", "yes", "last"]
    assert len(cells) == make_memory.head("last")[0].strip("| ").count(" | ") + 1


def test_the_host_gives_the_arenas_of_what_no_board_holds(make_memory: ModuleType) -> None:
    cells = make_memory.arenas_row(resources.bundled_model()).strip("| ").split(" | ")
    assert float(cells[2]) <= float(cells[1]) > 0


def test_the_least_of_other_tools_is_the_least(make_memory: ModuleType) -> None:
    known = yaml.safe_load((ROOT / "docs" / "peers.yaml").read_text())
    for model in make_memory.NAMES:
        size, _, tool = make_memory.least_of_others(known, model).partition(" (")
        rows = [row for row in known["rows"] if row[:2] == [model, "m7"] and row[6]]
        best = min(row[6] for row in rows)
        assert size == f"{best / 1024:.1f}"
        assert tool[:-1] in {known["tools"][row[2]]["name"] for row in rows if row[6] == best}
    assert make_memory.least_of_others({"rows": [], "tools": {}}, "kws") == "-"
