"""Rule: pass names and options are those of the passes; instruments are asked for by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import pytest
from config_files import refusal, resolved

from uhost.config._layers import Values
from uhost.config.pass_context import PassContext
from uhost.ir.module import IRModule
from uhost.passes._pass import PASSES

BOARD = "board: host\n"


@dataclass(frozen=True)
class Tile:
    """A pass of an outside package, with options."""

    depth: int = 2
    greedy: bool = False
    opt_level: ClassVar[int] = 2
    after: ClassVar[tuple[str, ...]] = ()

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        return module


@pytest.fixture
def tile() -> Iterator[None]:
    """Installs the pass `tile` of an outside package."""
    before = vars(PASSES).pop("_outside", {})
    point = EntryPoint("tile", f"{__name__}:Tile", "uhost.passes")
    vars(PASSES)["_outside"] = {**before, "tile": point}
    yield
    vars(PASSES).pop("_outside")


@pytest.mark.usefixtures("tile")
def test_options_become_part_of_the_context(tmp_path: Path) -> None:
    values: Values = {
        ("passes", "options", "tile", "greedy"): (True, "--pass-option tile.greedy=true")
    }
    text = f"{BOARD}passes: {{options: {{tile: {{depth: 3}}}}, required: [tile]}}\n"
    found = resolved(tmp_path, text, values)
    assert found.context == PassContext(
        required_passes=("tile",), options={"tile": {"depth": 3, "greedy": True}}
    )
    assert found.origins["passes.options.tile.depth"] == (3, "uhost.yaml:2")
    assert found.origins["passes.options.tile.greedy"] == (True, "command line")


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize(
    ("passes", "what", "key", "fix"),
    [
        (
            "{options: {tile: {dept: 3}}}",
            "the pass 'tile' has no option 'dept'",
            "options.tile.dept",
            "did you mean 'depth'? known: depth, greedy",
        ),
        (
            "{options: {tile: {depth: deep}}}",
            "wrong value: expected `int`, got `str`",
            "options.tile.depth",
            "expected an integer",
        ),
        (
            "{options: {fold_constants: {depth: 3}}}",
            "the pass 'fold_constants' has no option 'depth'",
            "options.fold_constants.depth",
            "it has none",
        ),
        (
            "{required: [tile_it]}",
            "there is no pass 'tile_it'",
            "required",
            None,
        ),
    ],
)
def test_what_no_pass_has(
    tmp_path: Path, passes: str, what: str, key: str, fix: str | None
) -> None:
    found = refusal(tmp_path, f"{BOARD}passes: {passes}\n")
    assert found[:2] == (what, f"uhost.yaml:2, key passes.{key}")
    assert fix is None or found[2] == fix


def test_a_pass_that_is_required_and_disabled(tmp_path: Path) -> None:
    text = f"{BOARD}passes: {{required: [fold_constants], disabled: [fold_constants]}}\n"
    what, where, _ = refusal(tmp_path, text)
    assert what == "the pass 'fold_constants' is both required and disabled"
    assert where == "uhost.yaml:2, key passes.required"


def test_instruments_are_data_and_not_in_the_context(tmp_path: Path) -> None:
    found = resolved(tmp_path, f"{BOARD}passes: {{dump: graphs, check: true}}\n")
    assert found.context.instruments == ()
    assert found.passes.dump == f"{tmp_path}/graphs"
    assert found.passes.check is True
    assert not found.passes.time
