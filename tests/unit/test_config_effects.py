"""Every option of C1 has the effect its description states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from config_files import resolved

from uhost import driver, resources
from uhost.config.board import load_board
from uhost.config.compilation import CompilationConfig, Pool
from uhost.config.resolve import preset
from uhost.errors import ConfigError, OutOfMemoryError
from uhost.runtime.compiled import Compiled
from uhost.runtime.device import device
from uhost.runtime.evaluation import measure
from uhost.runtime.samples import read_samples

MODEL = resources.bundled_model()
CCM = "board: netduinoplus2\npools:\n  workspace: [{name: ram}, {name: ccm, speed: 2}]\n"


def compiled(config: CompilationConfig, board: str = "stm32f746") -> Compiled:
    return driver.compile_models(driver.load(MODEL), board, config=config)


@pytest.fixture
def usual() -> CompilationConfig:
    return preset(load_board("stm32f746"))


def test_without_system_lib_there_is_the_models_c_and_no_image(usual: CompilationConfig) -> None:
    alone = compiled(replace(usual, runtime=replace(usual.runtime, system_lib=False)))
    assert not [path for path in alone.artifact.files if path.startswith("firmware/")]
    assert alone.artifact.files["model.c"] == compiled(usual).artifact.files["model.c"]
    with pytest.raises(ConfigError) as caught:
        driver.link(alone)
    assert caught.value.what == (
        "there is no image to link: the models are for an application of your own"
    )
    assert caught.value.where == "runtime crt, system_lib: false"
    assert caught.value.fix == "use `uhost compile`, or leave system_lib on"


@pytest.mark.parametrize("alignment_bytes", [8, 64])
def test_alignment_of_executor_and_pool(
    usual: CompilationConfig, alignment_bytes: Literal[8, 64]
) -> None:
    executor = replace(usual.executor, alignment_bytes=alignment_bytes)
    pool = replace(usual.workspace_pools[0], alignment_bytes=alignment_bytes)
    for config in (replace(usual, executor=executor), replace(usual, workspace_pools=(pool,))):
        made = compiled(config)
        plan = made.models[0].lowered.plan
        assert plan.alignment_bytes == alignment_bytes
        assert {offset % alignment_bytes for offset in plan.offsets.values()} == {0}
        table = made.artifact.files["firmware/model_table.c"].decode()
        assert f"__attribute__((aligned({alignment_bytes})))" in table


def test_alignment_of_a_constant_pool(usual: CompilationConfig) -> None:
    pool = replace(usual.constant_pools[0], alignment_bytes=32)
    source = compiled(replace(usual, constant_pools=(pool,))).artifact.files["model.c"].decode()
    assert "aligned(32)" in source
    assert "aligned(32)" not in compiled(usual).artifact.files["model.c"].decode()


@pytest.mark.parametrize(
    ("pools", "taken"),
    [
        ((Pool("ram", 4096), Pool("ccm", 4096)), "ram"),
        ((Pool("ram", 4096), Pool("ccm", 4096, speed=2)), "ccm"),
        ((Pool("ram", 2048), Pool("ccm", 4096)), "ccm"),
        ((Pool("ccm", 2048, speed=2), Pool("ram", 4096)), "ram"),
    ],
)
def test_the_fastest_pool_with_room_is_taken(pools: tuple[Pool, ...], taken: str) -> None:
    config = replace(preset(load_board("netduinoplus2")), workspace_pools=pools)
    assert compiled(config, "netduinoplus2").models[0].lowered.plan.pool == taken


def test_an_arena_that_no_pool_holds_is_refused() -> None:
    pools = (Pool("ram", 1000), Pool("ccm", 2000))
    config = replace(preset(load_board("netduinoplus2")), workspace_pools=pools)
    with pytest.raises(OutOfMemoryError) as caught:
        compiled(config, "netduinoplus2")
    assert caught.value.what.startswith("the arena does not fit: the pool 'ccm' has 2,000 B, ")


def test_weights_that_no_pool_holds_are_refused(usual: CompilationConfig) -> None:
    with pytest.raises(OutOfMemoryError) as caught:
        compiled(replace(usual, constant_pools=(Pool("flash", 100),)))
    assert caught.value.what.startswith("the weights do not fit: the pool 'flash' has 100 B, ")


def test_features_reach_kernels_and_flags(tmp_path: Path) -> None:
    text = "board: stm32f746\ntargets: {cortex_m: {features: []}}\n"
    found = resolved(tmp_path, text)
    made = driver.compile_models(driver.load(MODEL), found.board, config=found.config)
    assert {s.library for s in made.models[0].lowered.selections.values()} == {"reference"}
    assert made.artifact.files["firmware/board.h"].count(b"#define UHOST_HAS_FPU 0") == 1
    assert made.program().board.target.features == ()


@pytest.mark.needs("arm_gcc")
def test_the_arena_lies_where_its_pool_is(tmp_path: Path) -> None:
    found = resolved(tmp_path, CCM)
    made = driver.compile_models(driver.load(MODEL), found.board, config=found.config)
    built = driver.link(made, "arm_gcc", tmp_path / "image")
    region = found.board.region("ccm")
    assert region.start <= built.image.symbols["arena"].address < region.end
    usual = driver.link(driver.compile_models(driver.load(MODEL), "netduinoplus2"), "arm_gcc")
    assert abs(built.image.ram_bytes - usual.image.ram_bytes) <= 64
    samples = read_samples(MODEL.with_suffix(".npz"), made.models[0].lowered.graph).items[:2]
    assert measure(built, device(found.board, "unicorn"), samples).exact is True


@pytest.mark.needs("arm_gcc")
def test_code_without_fpu_runs(tmp_path: Path) -> None:
    text = "board: stm32f746\ntargets: {cortex_m: {features: [dsp]}}\n"
    found = resolved(tmp_path, text)
    made = driver.compile_models(driver.load(MODEL), found.board, config=found.config)
    built = driver.link(made, "arm_gcc", tmp_path / "image")
    samples = read_samples(MODEL.with_suffix(".npz"), made.models[0].lowered.graph).items[:2]
    assert measure(built, device(found.board, "unicorn"), samples).exact is True
