"""Plans whose tensors share bytes, against every access of the generated code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import access_trace
import numpy as np
import pytest

from uhost import driver, resources
from uhost.codegen.lowered import Lowered
from uhost.config.board import load_board
from uhost.config.compilation import CompilationConfig
from uhost.errors import VerifyError
from uhost.planner import plan_memory, view_operators
from uhost.planner.plan import Block, MemoryPlan, Overlap
from uhost.planner.replay import Accesses, check_replay

_SEED = 20


def check(model: Path, board: str, monkeypatch: pytest.MonkeyPatch) -> MemoryPlan:
    """Records a run without sharing and replays it on the plan with it, which is returned."""
    sources = driver.load(model)
    shared = driver.compile_models(sources, board).models[0].lowered
    with monkeypatch.context() as patch:
        patch.setattr("uhost.planner.overlaps_of", lambda *_: ())
        apart = driver.compile_models(sources, board)
    graph = shared.graph
    random = np.random.default_rng(_SEED)
    feeds = [
        random.integers(-128, 128, graph.tensors[name].shape).astype(
            graph.tensors[name].dtype.numpy
        )
        for name in graph.inputs
    ]
    recorded, steps = access_trace.record(driver.link(apart, "arm_gcc"), feeds)
    check_replay(recorded, shared.plan, graph.inputs, steps)
    assert shared.plan.overlaps
    return shared.plan


def check_as_chosen(
    model: Path, config: CompilationConfig, monkeypatch: pytest.MonkeyPatch
) -> Lowered:
    """Does the same with the very kernels of the plan that shares; returns model and plan.

    `check` lets them be chosen again where nothing is shared, which `ram` must not.
    """
    sources = driver.load(model)
    board = load_board("stm32f746")
    [shared] = driver.lower_models([source.graph for source in sources], config)
    apart = plan_memory(
        shared.graph,
        view_operators(shared.graph),
        {name: one.call.scratch_bytes for name, one in shared.selections.items()},
        config.usable_workspace_pools()[0],
        config.executor.alignment_bytes,
    )
    with monkeypatch.context() as patch:
        patch.setattr(driver, "lower_models", lambda *_: [replace(shared, plan=apart)])
        compiled = driver.compile_models(sources, board, config=config)
    random = np.random.default_rng(_SEED)
    feeds = [
        random.integers(-128, 128, shared.graph.tensors[name].shape).astype(
            shared.graph.tensors[name].dtype.numpy
        )
        for name in shared.graph.inputs
    ]
    recorded, steps = access_trace.record(driver.link(compiled, "arm_gcc"), feeds)
    check_replay(recorded, shared.plan, shared.graph.inputs, steps)
    return shared


def smallest(limit_bytes: int | None = None) -> CompilationConfig:
    board = load_board("stm32f746")
    return replace(driver.configure(board), optimize="ram", ram_limit_bytes=limit_bytes)


@pytest.mark.needs("arm_gcc")
def test_rings_and_results_of_a_chain_overwrite_no_row_early(
    shared_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = check_as_chosen(shared_models / "mlperf_ic_int8.tflite", smallest(30_000), monkeypatch)
    [stream] = [one for one in made.graph.operators if one.kind == "row_stream"]
    written = [o.written for o in made.plan.overlaps if o.read in stream.inputs]
    assert f"{stream.name}:scratch" in written
    assert made.plan.arena_bytes <= 30_000


@pytest.mark.full
@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize(
    ("name", "limit_bytes"),
    [
        ("mlperf_vww_int8", None),
        ("mlperf_ic_int8", 22_000),
        ("mcunet_vww", None),
        ("tinymaix_mbnet96_int8", None),
    ],
)
def test_chains_of_many_models_overwrite_no_row_early(
    name: str, limit_bytes: int | None, shared_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = check_as_chosen(shared_models / f"{name}.tflite", smallest(limit_bytes), monkeypatch)
    assert any(one.kind == "row_stream" for one in made.graph.operators)


@pytest.mark.needs("arm_gcc")
def test_no_byte_is_overwritten_before_its_last_read(monkeypatch: pytest.MonkeyPatch) -> None:
    check(resources.bundled_model(), "stm32f746", monkeypatch)


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("board", ["rpi_pico", "lm3s6965evb"])
def test_no_byte_is_overwritten_early_by_portable_kernels(
    board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(resources.bundled_model(), board, monkeypatch)


@pytest.mark.needs("arm_gcc")
def test_no_byte_is_overwritten_early_by_float_kernels(
    shared_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared_models / "mlperf_kws_float.tflite", "stm32f746", monkeypatch)


@pytest.mark.full
@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("mlperf_vww_float", "stm32f746"),
        ("mlperf_ic_float", "stm32f746"),
        ("mlperf_kws_int8", "rpi_pico"),
        ("mlperf_vww_int8", "rpi_pico"),
        ("mlperf_ic_int8", "lm3s6965evb"),
        ("tinymaix_mnist_int8", "lm3s6965evb"),
        # Without an FPU: the portable kernels in float.
        ("mlperf_kws_float", "rpi_pico"),
    ],
)
def test_no_byte_of_other_kernels_is_overwritten_early(
    name: str, board: str, shared_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared_models / f"{name}.tflite", board, monkeypatch)


@pytest.mark.needs("arm_gcc")
def test_no_byte_of_a_real_model_is_overwritten_early(
    shared_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = check(shared_models / "mlperf_kws_int8.tflite", "stm32f746", monkeypatch)
    assert plan.arena_bytes < 10_000


@pytest.mark.full
@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize(
    "name",
    [
        "mlperf_vww_int8",
        "mlperf_ic_int8",
        "mlperf_ad_int8",
        "mlperf_sww_int8",
        "mcunet_vww",
        "silabs_magic_wand",
        "tflm_person_detect_int8",
        "tinymaix_mnist_int8",
        "arm_micronet_kws_m_int8",
    ],
)
def test_no_byte_of_many_models_is_overwritten_early(
    name: str, shared_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared_models / f"{name}.tflite", "stm32f746", monkeypatch)


# ---- The checker itself -------------------------------------------------------------------

BLOCKS = (Block("in", 4, 0, 0), Block("out", 4, 0, 1))


def plan_of(out: int) -> MemoryPlan:
    offsets = {"in": 4, "out": out}
    sharing = (Overlap("in", "out", 0),)
    return MemoryPlan("ram", BLOCKS, offsets, {}, 16, 4, 1, sharing)


def accesses(*each: tuple[int, int, bool]) -> Accesses:
    blocks, offsets, writes = zip(*each, strict=True)
    return Accesses(np.array(blocks), np.array(offsets), np.array(writes))


COPY = accesses(*[(block, i, block == 1) for i in range(4) for block in (0, 1)])


def test_a_copy_may_run_over_its_input_but_not_ahead_of_it() -> None:
    recorded = plan_of(8)
    for out in (0, 3, 4, 8):
        check_replay(recorded, plan_of(out), ["in"], [COPY])
    with pytest.raises(VerifyError, match="operator 0 reads byte 1 of 'in' after another has"):
        check_replay(recorded, plan_of(5), ["in"], [COPY])


def test_an_output_must_be_whole_at_the_end() -> None:
    blocks = (*BLOCKS, Block("late", 4, 1, 1))
    recorded = replace(plan_of(8), blocks=blocks, offsets={"in": 4, "out": 8, "late": 0})
    wrong = replace(recorded, offsets={"in": 4, "out": 8, "late": 6})
    late = accesses(*[(2, i, True) for i in range(4)])
    check_replay(recorded, recorded, ["in"], [COPY, late])
    with pytest.raises(VerifyError, match="'out' is not whole after the last operator"):
        check_replay(recorded, wrong, ["in"], [COPY, late])


def test_what_was_never_written_may_be_read() -> None:
    # A kernel may read padding it does not use; the plan changes nothing about that.
    reads = accesses((1, 0, False), (0, 0, False))
    check_replay(plan_of(8), plan_of(4), ["in"], [reads])


def test_plans_of_other_blocks_cannot_be_compared() -> None:
    other = replace(plan_of(8), blocks=(Block("else", 4, 0, 0),), offsets={"else": 0})
    with pytest.raises(VerifyError, match="the plans are of different blocks"):
        check_replay(plan_of(8), other, ["in"], [])
