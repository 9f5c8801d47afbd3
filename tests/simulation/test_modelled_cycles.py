"""Modelled cycles of whole runs: every executed block once, in both simulators."""

from __future__ import annotations

from dataclasses import replace

import pytest

from uhost import driver, resources
from uhost.runners._counter import MAX_VISITS, Visit, executed_blocks
from uhost.runners._runner import ExecutedBlock, RunCounts
from uhost.runtime.compiled import Built
from uhost.runtime.cycles import DecodedBlock, decode_blocks, model_cycles
from uhost.runtime.device import device
from uhost.runtime.evaluation import Evaluation, measure
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.targets._cycles import cycle_model


@pytest.fixture(scope="module")
def built() -> Built:
    compiled = driver.compile_models(driver.load(resources.bundled_model()), "mps2_an500")
    return driver.link(compiled, "zig")


def counted(built: Built, runner: str) -> RunCounts:
    sample = random_sample(built.compiled.models[0].lowered.graph, 1)
    with start(built, device(built.compiled.board, runner)) as executor:
        for index, value in sample.inputs.items():
            executor.set_input(index, value)
        executor.watch()
        executor.run()
        counts = executor.counts()
    assert counts is not None
    return counts


def decoded(built: Built, counts: RunCounts) -> list[DecodedBlock]:
    assert counts.blocks is not None
    blocks = decode_blocks(built.image, counts.blocks)
    assert len(blocks) == len(counts.blocks) > 50
    return blocks


def check_blocks(built: Built, counts: RunCounts) -> None:
    """The blocks hold the counted instructions, call by call, and their cycles are the total."""
    blocks = decoded(built, counts)
    instructions = [0] * len(counts.calls)
    for block in blocks:
        instructions[block.executed.call] += block.work.instructions
        assert block.executed.taken <= block.executed.executed
    assert tuple(instructions) == counts.calls
    model = cycle_model("cortex-m7")
    assert model is not None
    cycles = sum(
        model.block(b.instructions).total(b.executed.executed, b.executed.taken) for b in blocks
    )
    modelled = model_cycles(built.image, "cortex-m7", counts)
    assert modelled.total == cycles == sum(modelled.calls)
    assert len(modelled.calls) == len(counts.calls)


def test_blocks_of_unicorn_add_up(built: Built) -> None:
    check_blocks(built, counted(built, "unicorn"))


@pytest.mark.needs("qemu")
@pytest.mark.xdist_group("qemu_runner")
def test_blocks_of_qemu_add_up_and_agree_with_unicorn(built: Built) -> None:
    in_qemu, in_unicorn = counted(built, "qemu"), counted(built, "unicorn")
    check_blocks(built, in_qemu)
    # The simulators end blocks at different places where there is no branch.
    cycles = [model_cycles(built.image, "cortex-m4", c).total for c in (in_qemu, in_unicorn)]
    assert cycles[0] is not None
    assert cycles[0] == pytest.approx(cycles[1], rel=0.002)


@pytest.mark.needs("qemu", "arm_gcc")
@pytest.mark.xdist_group("qemu_runner")
def test_helium_code_is_decoded_whole() -> None:
    compiled = driver.compile_models(driver.load(resources.bundled_model()), "mps3_an547")
    vectors = driver.link(compiled, "arm_gcc")
    counts = counted(vectors, "qemu")
    work = decoded(vectors, counts)[0].work
    for block in decoded(vectors, counts)[1:]:
        work += block.work
    assert work.instructions == counts.total
    assert min(work.vector_load, work.vector_store, work.vector_multiply, work.vector_alu) > 500
    modelled = model_cycles(vectors.image, "cortex-m55", counts)
    assert modelled.total is not None
    assert counts.total < modelled.total < 2 * counts.total


def test_an_evaluation_has_cycles_in_all_and_per_operator(built: Built) -> None:
    sample = random_sample(built.compiled.models[0].lowered.graph, 1)

    def evaluated(count: bool) -> Evaluation:
        return measure(built, device(built.compiled.board, "unicorn"), (sample,), count=count)

    one = evaluated(count=True)
    assert one.modelled_cycles is not None
    assert sum(o.modelled_cycles or 0 for o in one.operators) == one.modelled_cycles > 50_000
    assert (one.why_uncounted, one.why_unmodelled) == ("", "")
    silent = evaluated(count=False)
    assert silent.modelled_cycles is None
    assert silent.why_uncounted == "it was not asked for"
    assert silent.why_unmodelled == "the executed instructions were not counted"


def test_where_there_are_none_the_reason_is_told(built: Built) -> None:
    counts = RunCounts(10, (10,), (ExecutedBlock(0, 0, 4, 1, 0),))
    cases = {
        "there is no cycle model of rv32imac": ("rv32imac", counts),
        "there is no cycle model of this machine": ("", counts),
        "the executed instructions were not counted": ("cortex-m4", None),
        "the run executes too many blocks to tell them apart": (
            "cortex-m4",
            replace(counts, blocks=None),
        ),
        "the run executes code that is not in the image": (
            "cortex-m4",
            replace(counts, blocks=(ExecutedBlock(0, 0xE0000000, 4, 1, 0),)),
        ),
    }
    for reason, (cpu, given) in cases.items():
        modelled = model_cycles(built.image, cpu, given)
        assert (modelled.total, modelled.calls, modelled.why_not) == (None, (), reason)


def test_a_log_is_added_up() -> None:
    visits = [
        Visit(0, 8, 4, 5, 1),
        Visit(0, 8, 4, 2, 2),
        Visit(1, 8, 4, 1, 0),
        Visit(2, 16, 4, 1, 0),
    ]
    assert executed_blocks(visits, calls=2) == (
        ExecutedBlock(0, 8, 4, 7, 3),
        ExecutedBlock(1, 8, 4, 1, 0),
        ExecutedBlock(1, 16, 4, 1, 0),  # behind the last call
    )
    assert MAX_VISITS > 100_000
