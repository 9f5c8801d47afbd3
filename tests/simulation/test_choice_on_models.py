"""Kernels chosen by their costs, on the MLPerf Tiny models: what is stated is what is measured."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from uhost import driver
from uhost.codegen.lowered import Lowered
from uhost.codegen.stated import stated
from uhost.config.board import load_board
from uhost.config.compilation import KernelChoice, Optimize, Pool
from uhost.errors import OutOfMemoryError
from uhost.runtime.compiled import Built, Compiled
from uhost.runtime.device import device
from uhost.runtime.evaluation import Evaluation, measure
from uhost.runtime.samples import read_samples

BOARD = load_board("stm32f746")
KWS, VWW, IC, AD = (f"mlperf_{name}_int8" for name in ("kws", "vww", "ic", "ad"))

SMALL_KIB = {KWS: 36, VWW: 62, IC: 92, AD: 268}
"""Most flash of each model where little of it is aimed at."""

FULL = pytest.mark.full
A_FEW = 16
"""Instructions that an estimate may be off besides its share, which is little of a small layer."""


def compiled(folder: Path, name: str, **choice: Any) -> Compiled:
    config = replace(driver.configure(BOARD), **choice)
    sources = driver.load(folder / f"{name}.tflite")
    return driver.compile_models(sources, BOARD, config=config)


def lowered(folder: Path, name: str, **choice: Any) -> Lowered:
    return compiled(folder, name, **choice).models[0].lowered


def built(folder: Path, name: str, **choice: Any) -> Built:
    return driver.link(compiled(folder, name, **choice), "arm_gcc")


def measured(folder: Path, name: str, made: Built) -> Evaluation:
    graph = made.compiled.models[0].lowered.graph
    samples = read_samples(folder / f"{name}.golden.npz", graph).items[:1]
    result = measure(made, device(BOARD), samples)
    assert result.exact
    return result


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("optimize", ["speed", pytest.param("balanced", marks=FULL), "size"])
@pytest.mark.parametrize("name", [KWS, VWW, IC, AD])
def test_every_layer_executes_what_its_kernel_states(
    shared_models: Path, name: str, optimize: str
) -> None:
    made = built(shared_models, name, optimize=optimize)
    [model] = made.compiled.models
    result = measured(shared_models, name, made)
    checked = 0
    for figures in result.operators:
        selection = model.lowered.selections.get(figures.name)
        if selection is None or selection.variant.cost is None:
            continue
        checked += 1
        expected = selection.variant.cost.work.instructions
        assert figures.instructions is not None
        off = abs(expected - figures.instructions)
        assert off <= 0.03 * figures.instructions + A_FEW, (figures, expected)
    assert checked >= len(model.lowered.selections) - 1
    total = stated([model.lowered])
    assert abs(total.instructions - (result.instructions or 0)) <= 0.02 * total.instructions
    if optimize == "size":
        assert result.model_flash_bytes <= SMALL_KIB[name] * 1024
    assert abs(total.flash_bytes - result.model_flash_bytes) <= 0.01 * total.flash_bytes


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("name", [AD, IC, *(pytest.param(one, marks=FULL) for one in (KWS, VWW))])
def test_cycles_are_saved_by_an_order_made_for_the_core(shared_models: Path, name: str) -> None:
    fast = measured(shared_models, name, built(shared_models, name))
    made = built(shared_models, name, optimize="cycles")
    [model] = made.compiled.models
    result = measured(shared_models, name, made)
    assert result.modelled_cycles is not None
    assert fast.modelled_cycles is not None
    assert result.modelled_cycles < 0.85 * fast.modelled_cycles
    assert (result.instructions or 0) > (fast.instructions or 0)
    checked = 0
    for figures in result.operators:
        selection = model.lowered.selections.get(figures.name)
        if selection is None or not selection.name.endswith("_pipelined"):
            continue
        checked += 1
        assert selection.variant.cost is not None
        assert figures.instructions is not None
        assert figures.modelled_cycles is not None
        off = abs(selection.variant.cost.work.instructions - figures.instructions)
        assert off <= 0.03 * figures.instructions + A_FEW, figures
        off = abs((selection.variant.cycles or 0) - figures.modelled_cycles)
        assert off <= 0.05 * figures.modelled_cycles + 8 * A_FEW, figures
    assert checked > 0
    total = stated([model.lowered])
    assert abs(total.flash_bytes - result.model_flash_bytes) <= 0.01 * total.flash_bytes


def test_a_core_of_one_instruction_a_cycle_has_no_use_for_it(shared_models: Path) -> None:
    board = load_board("nrf52840dk")
    sources = driver.load(shared_models / f"{KWS}.tflite")
    names = []
    for optimize in ("speed", "cycles"):
        config = replace(driver.configure(board), optimize=optimize)
        made = driver.compile_models(sources, board, config=config)
        names.append([s.name for s in made.models[0].lowered.selections.values()])
    assert names[0] == names[1]
    assert not any(name.endswith("_pipelined") for name in names[1])


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize(
    ("name", "limit_bytes"),
    [(KWS, 35_800), (IC, 131_072), *(pytest.param(IC, n, marks=FULL) for n in (92_160, 163_840))],
)
def test_a_flash_limit_is_kept(shared_models: Path, name: str, limit_bytes: int) -> None:
    made = built(shared_models, name, flash_limit_bytes=limit_bytes)
    assert made.image.model_flash_bytes <= limit_bytes
    result = measured(shared_models, name, made)
    fast = stated([lowered(shared_models, name)])
    assert fast.flash_bytes > limit_bytes
    assert (result.instructions or 0) > fast.instructions


def test_balanced_lies_between(shared_models: Path) -> None:
    totals = [
        stated([lowered(shared_models, IC, optimize=one)]) for one in ("speed", "balanced", "size")
    ]
    cycles, flash = [t.cycles for t in totals], [t.flash_bytes for t in totals]
    assert cycles == sorted(cycles)
    assert flash == sorted(flash, reverse=True)
    products = [c * f for c, f in zip(cycles, flash, strict=True)]
    assert products[1] == min(products)


def test_a_ram_limit_exchanges_scratch_at_the_peak(shared_models: Path) -> None:
    free = lowered(shared_models, IC)
    limit_bytes = free.plan.arena_bytes - 600
    smaller = lowered(shared_models, IC, ram_limit_bytes=limit_bytes)
    assert smaller.plan.arena_bytes <= limit_bytes
    peak = free.graph.operators[free.plan.peak_step()].name
    changed = {n for n, s in smaller.selections.items() if s.name != free.selections[n].name}
    assert changed == {peak}
    reasons = {v.name: reason for v, reason in smaller.selections[peak].others}
    assert reasons[free.selections[peak].name].startswith("does not fit: ")
    assert reasons[free.selections[peak].name].endswith(" B of RAM are missing at its step")


def test_visual_wake_words_fits_42_kib_of_ram(shared_models: Path) -> None:
    stack_bytes = 512
    fits = lowered(shared_models, VWW, ram_limit_bytes=42 * 1024 - stack_bytes)
    [peak] = [n for n, s in fits.selections.items() if s.name.endswith("_rectified_narrow")]
    assert fits.graph.operators[fits.plan.peak_step()].name == peak


def test_a_limit_that_cannot_be_met_is_told(shared_models: Path) -> None:
    with pytest.raises(OutOfMemoryError) as caught:
        compiled(shared_models, KWS, flash_limit_bytes=20_000)
    assert caught.value.what.startswith(
        "the flash limit of 20,000 B cannot be met: the smallest choice of kernels takes about "
    )
    assert caught.value.where == f"model '{KWS}'"
    needed = int(caught.value.fix.split()[6].rstrip(","))
    assert f"{needed - 20_000:,} B are missing" in caught.value.what
    enough = lowered(shared_models, KWS, flash_limit_bytes=needed)
    assert stated([enough]).flash_bytes <= needed
    with pytest.raises(OutOfMemoryError) as caught:
        compiled(shared_models, KWS, ram_limit_bytes=8_000)
    assert caught.value.what.startswith(
        "the RAM limit of 8,000 B cannot be met: the smallest arena that was found takes "
    )
    assert "Live at the peak, step" in caught.value.what
    needed = int(caught.value.fix.split()[6].rstrip(","))
    enough = lowered(shared_models, KWS, ram_limit_bytes=needed)
    assert enough.plan.arena_bytes <= needed


def test_winograd_gives_way_on_a_board_with_little_flash(shared_models: Path) -> None:
    """A board of 128 KiB gets what fits, where the fastest kernels would not link."""
    regions = tuple(
        replace(one, size_bytes=128 * 1024) if one.name == BOARD.flash else one
        for one in BOARD.regions
    )
    small = replace(BOARD, regions=regions)
    sources = driver.load(shared_models / f"{IC}.tflite")
    made = driver.link(driver.compile_models(sources, small), "arm_gcc")
    assert made.image.flash_bytes <= 128 * 1024
    names = {s.name for s in made.compiled.models[0].lowered.selections.values()}
    assert names >= {"conv_2d", "conv_2d_winograd"}


def test_compiling_stays_quick(shared_models: Path) -> None:
    for name in (KWS, VWW, IC, AD):
        sources = driver.load(shared_models / f"{name}.tflite")
        before = time.process_time()
        driver.compile_models(sources, BOARD)
        assert time.process_time() - before < 3, name


RAM_KIB = {KWS: 12, VWW: 42, IC: 38, AD: 2.4}
"""Most RAM of each model, arena and stack, where little of it is aimed at."""


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("name", [KWS, VWW, IC, AD])
def test_little_ram_costs_few_instructions(shared_models: Path, name: str) -> None:
    fast = measured(shared_models, name, built(shared_models, name))
    small = measured(shared_models, name, built(shared_models, name, optimize="ram"))
    assert small.model_ram_bytes is not None
    assert small.model_ram_bytes <= RAM_KIB[name] * 1024
    assert small.instructions is not None
    assert fast.instructions is not None
    assert small.instructions <= 1.3 * fast.instructions


def test_a_ram_limit_is_met_by_the_fewest_cycles_above_what_is_worth_it(
    shared_models: Path,
) -> None:
    """Little RAM takes chains of rows up to a slowdown; a limit, slower ones, as few as will do."""
    free = lowered(shared_models, IC, optimize="ram")
    made = [lowered(shared_models, IC, optimize="ram", ram_limit_bytes=n) for n in (30_000, 22_000)]
    assert not any(one.kind == "row_stream" for one in free.graph.operators)
    for one, limit in zip(made, (30_000, 22_000), strict=True):
        assert one.plan.arena_bytes <= limit < free.plan.arena_bytes
    cycles = [stated([one]).cycles for one in (free, *made)]
    assert cycles == sorted(cycles)
    # A limit that is met anyway changes nothing.
    wide = lowered(shared_models, IC, optimize="ram", ram_limit_bytes=60_000)
    assert wide.plan.arena_bytes == free.plan.arena_bytes


def test_chosen_kernels_stay_out_of_chains(shared_models: Path) -> None:
    choice = (KernelChoice("conv_2d_9", "reference"),)
    made = lowered(shared_models, IC, optimize="ram", ram_limit_bytes=30_000, kernels=choice)
    assert made.selections["conv_2d_9"].library == "reference"
    assert any(one.kind == "row_stream" for one in made.graph.operators)


@pytest.mark.parametrize("optimize", ["speed", "ram"])
def test_a_ram_limit_lets_the_arena_into_the_fast_pool(
    shared_models: Path, optimize: Optimize
) -> None:
    sources = driver.load(shared_models / f"{KWS}.tflite")
    pools = (Pool("fast", size_bytes=9_200), Pool("large"))
    config = replace(driver.configure(BOARD), workspace_pools=pools, optimize=optimize)
    limited = replace(config, ram_limit_bytes=9_200)
    [made] = driver.lower_models([source.graph for source in sources], limited)
    assert made.plan.pool == "fast"
