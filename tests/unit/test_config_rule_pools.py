"""Rule: a pool is a memory region of the board; the fastest with room enough is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_files import refusal, resolved

from uhost.config.compilation import Pool
from uhost.errors import OutOfMemoryError
from uhost.planner.pools import by_room, check_room, has_room

BOARD = "board: netduinoplus2\npools:\n"


def test_without_pools_they_are_the_boards_ram_and_flash(tmp_path: Path) -> None:
    found = resolved(tmp_path, "board: netduinoplus2\n")
    ram = found.board.region("ram").size_bytes - found.board.stack_bytes
    assert found.config.workspace_pools == (Pool("ram", ram),)
    assert found.config.constant_pools == (Pool("flash", 1 << 20),)


def test_a_pool_without_a_size_gets_its_regions(tmp_path: Path) -> None:
    text = f"{BOARD}  workspace: [{{name: ccm, speed: 2}}, {{name: ram, size_bytes: 1024}}]\n"
    pools = resolved(tmp_path, text).config.workspace_pools
    assert pools == (Pool("ccm", 65536, speed=2), Pool("ram", 1024))


@pytest.mark.parametrize(
    ("pools", "what", "key", "fix"),
    [
        (
            "workspace: [{name: cmc}]",
            "the board 'netduinoplus2' has no memory region 'cmc'",
            "workspace",
            "did you mean 'ccm'? known: flash, ccm, ram",
        ),
        (
            "workspace: [{name: flash}]",
            "the arena cannot lie in flash, 'flash'",
            "workspace",
            "use ccm or ram",
        ),
        (
            "constants: [{name: ccm}]",
            "weights are linked into 'flash', not into 'ccm'",
            "constants",
            "use flash",
        ),
        (
            "workspace: [{name: ccm, size_bytes: 65537}]",
            "the pool 'ccm' has 65,537 B, more than the 65,536 B that 'netduinoplus2' has for it",
            "workspace",
            "give at most 65536, or leave the size out",
        ),
    ],
)
def test_pools_that_the_board_does_not_have(
    tmp_path: Path, pools: str, what: str, key: str, fix: str
) -> None:
    where = f"uhost.yaml:3, key pools.{key}"
    assert refusal(tmp_path, f"{BOARD}  {pools}\n") == (what, where, fix)


@pytest.mark.parametrize(
    ("board", "usable"), [("stm32f746", "ram"), ("mimxrt1050_evk", "dtcm or ocram")]
)
def test_an_arena_at_address_0_is_none(tmp_path: Path, board: str, usable: str) -> None:
    text = f"board: {board}\npools:\n  workspace: [{{name: itcm}}]\n"
    assert refusal(tmp_path, text) == (
        "the arena cannot lie in 'itcm', which begins at address 0: to C, a pointer there is no "
        "arena",
        "uhost.yaml:3, key pools.workspace",
        f"use {usable}",
    )
    assert refusal(tmp_path, text.replace("itcm", "flash"))[2] == f"use {usable}"


def test_a_pool_for_a_target_that_is_not_selected(tmp_path: Path) -> None:
    what, _, fix = refusal(tmp_path, f"{BOARD}  workspace: [{{name: ram, targets: [npu]}}]\n")
    assert what == "the workspace pool 'ram' is for the target 'npu', which is not selected"
    assert fix == "selected: cortex_m"


def test_a_pool_given_twice(tmp_path: Path) -> None:
    text = f"{BOARD}  workspace: [{{name: ram}}, {{name: ram, speed: 2}}]\n"
    assert refusal(tmp_path, text)[0] == "the workspace pool 'ram' is given twice"


def test_pools_are_tried_in_order_the_largest_once_more_at_the_end() -> None:
    small, large, middle = Pool("a", 10), Pool("b", 30), Pool("c", 20)
    assert by_room((small,)) == (small,)
    assert by_room((small, large, middle)) == (small, large, middle, large)
    assert has_room(Pool("x"), 10**9)
    assert not has_room(small, 11)


def test_the_first_with_room_is_taken_and_none_says_what_lacks() -> None:
    pools = (Pool("a", 10), Pool("b", 30))
    assert check_room("the arena does", pools, 11, "board") == pools[1]
    with pytest.raises(OutOfMemoryError) as caught:
        check_room("the arena does", pools, 31, "board")
    assert caught.value.what == (
        "the arena does not fit: the pool 'b' has 30 B, 31 B are needed, 1 B are missing"
    )
    assert caught.value.where == "board 'board', pools: a, b"
    assert caught.value.fix == "enlarge the pool, add another, or choose a smaller model"
