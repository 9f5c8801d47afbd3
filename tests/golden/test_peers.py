"""The figures of other tools: whole, and shown in docs/benchmarks.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


MODELS, CORES = ("kws", "vww", "ic", "ad"), ("m4", "m7", "m55")


def known() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "peers.yaml").read_text())
    return content


def test_every_row_is_of_a_named_tool() -> None:
    content = known()
    rows = content["rows"]
    assert {(model, core) for model, core, *_ in rows} == {(m, c) for m in MODELS for c in CORES}
    assert {tool for _, _, tool, *_ in rows} == set(content["tools"])
    assert all(about["name"] and about["version"] for about in content["tools"].values())
    assert len({tuple(row[:4]) for row in rows}) == len(rows)
    assert all(min(row[4:]) > 0 for row in rows)


def test_benchmarks_show_the_best_build_of_each_tool() -> None:
    content = known()
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for model in MODELS:
        for core in CORES:
            for tool in content["tools"]:
                steps = [r[4] for r in content["rows"] if r[:3] == [model, core, tool]]
                if steps:
                    name = content["tools"][tool]["name"]
                    assert f"| {model} | {name} | " in page
                    assert f"| {min(steps):,} |" in page
    for name in MODELS:
        assert f"| **{name}** | **uhost** |" in page
