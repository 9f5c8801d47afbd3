"""Errors of too little memory say what would help, in bytes that were tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from uhost import driver, resources
from uhost.codegen.lowered import arena_bytes
from uhost.codegen.remedies import with_remedies
from uhost.config.board import load_board
from uhost.config.compilation import Executor
from uhost.errors import OutOfMemoryError


def test_options_that_make_the_arena_smaller_are_named() -> None:
    sources = driver.load(resources.bundled_model())
    board = "stm32f746"
    config = replace(driver.configure(load_board(board)), executor=Executor(keep_input=True))
    models = driver.lower_models([one.graph for one in sources], config)
    error = with_remedies(OutOfMemoryError("too large", fix="another board"), models, config)
    small = replace(config, optimize="ram", executor=Executor(keep_input=False))
    made = driver.lower_models([one.graph for one in sources], small)
    now, then = arena_bytes(models, config.executor), arena_bytes(made, small.executor)
    assert error.what == "too large"
    assert error.fix is not None
    assert error.fix.endswith("; another board")
    assert then < now
    assert f"--optimize ram makes the arena {then:,} B, {now - then:,} B less" in error.fix


def test_what_cannot_be_made_smaller_stays_as_it_is() -> None:
    sources = driver.load(resources.bundled_model())
    config = replace(driver.configure(load_board("stm32f746")), optimize="ram")
    models = driver.lower_models([one.graph for one in sources], config)
    error = OutOfMemoryError("too large", fix="another board")
    assert with_remedies(error, models, config) is error


def test_the_build_says_so(shared_models: object) -> None:
    sources = driver.load(f"{shared_models}/mlperf_ic_int8.tflite")
    board = load_board("stm32f746")
    small = replace(
        board,
        regions=tuple(
            replace(r, size_bytes=40 * 1024) if r.name == board.ram else r for r in board.regions
        ),
    )
    config = replace(driver.configure(small), executor=Executor(keep_input=True))
    with pytest.raises(OutOfMemoryError) as caught:
        driver.compile_models(sources, small, config=config)
    assert caught.value.fix is not None
    assert "choose a board with more RAM" in caught.value.fix
