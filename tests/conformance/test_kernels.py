"""Every operator's examples, by every kernel library, on the host and in the simulators.

The examples of one operator are merged into one graph, so that one image runs them all.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from uhost import driver
from uhost.config.board import Board, load_board
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.kernels._kernel import candidates
from uhost.ops._op import OPERATORS, evaluate
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.evaluation import compare
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain._toolchain import TOOLCHAINS, Toolchain
from uhost.toolchain.host_cc import HostCc

SEEDS = (1, 2)
STREAM = range(32)


def merged(kinds: str) -> Graph:
    """Returns one graph that holds every example of the operators, side by side."""
    tensors = {}
    operators = []
    inputs: list[str] = []
    outputs: list[str] = []
    states: dict[str, Array] = {}
    examples = [example for kind in kinds.split("+") for example in OPERATORS[kind].examples()]
    for number, example in enumerate(examples):
        rename = {name: f"e{number}.{name}" for name in example.graph.tensors}
        for name, tensor in example.graph.tensors.items():
            tensors[rename[name]] = replace(tensor, name=rename[name])
        for operator in example.graph.operators:
            operators.append(
                replace(
                    operator,
                    name=f"e{number}_{operator.name}",
                    inputs=tuple(rename[n] if n else "" for n in operator.inputs),
                    outputs=tuple(rename[n] for n in operator.outputs),
                )
            )
        inputs += [rename[n] for n in example.graph.inputs]
        outputs += [rename[n] for n in example.graph.outputs]
        states |= {rename[n]: values for n, values in example.graph.states.items()}
    graph = Graph("examples", tensors, tuple(operators), tuple(inputs), tuple(outputs), states)
    graph.verify()
    return graph


def check(
    kind: str,
    board: Board,
    runner: str,
    toolchain: Toolchain,
    folder: Path,
    libraries: tuple[str, ...] = (),
) -> None:
    graph = merged(kind)
    config = driver.configure(board)
    if libraries:
        target = replace(config.targets[0], libraries=libraries)
        config = replace(config, targets=(target,))
    compiled = driver.compile_models((Source(graph, "examples", b""),), board, config=config)
    if libraries:
        selections = compiled.models[0].lowered.selections.values()
        assert {selection.library for selection in selections} <= set(libraries)
    built = Built(compiled, toolchain.build(compiled.artifact, board, folder), folder)
    lowered = compiled.models[0].lowered.graph
    where = replace(device(board.name, runner), board=board)
    states = lowered.states
    with start(built, where) as executor:
        for seed in STREAM if states else SEEDS:
            sample = random_sample(lowered, seed)
            for index, value in sample.inputs.items():
                executor.set_input(index, value)
            executor.run()
            feeds = {name: sample.inputs[i] for i, name in enumerate(lowered.inputs)}
            expected = evaluate(lowered, feeds, states)
            states = {name: expected[name] for name in states}
            made = {n: executor.get_output(i) for i, n in enumerate(lowered.outputs)}
            for name, value in (made | executor.get_states()).items():
                result = compare(name, f"reference, run {seed}", value, expected[name])
                assert result.matches, (result, np.shape(expected[name]))
        if states:
            executor.reset()
            for name, value in executor.get_states().items():
                assert value.tobytes() == lowered.states[name].tobytes()


def in_groups() -> list[str]:
    """Operators of portable kernels alone, several to an image, and the others one by one."""
    alone: list[str] = []
    small: list[str] = []
    for kind in OPERATORS.names():
        fast = candidates(kind, "dsp") or candidates(kind, "mve")
        states = any(example.graph.states for example in OPERATORS[kind].examples())
        (alone if fast or states else small).append(kind)
    return [
        *alone,
        *("+".join(small[i : i + IN_ONE_IMAGE]) for i in range(0, len(small), IN_ONE_IMAGE)),
    ]


IN_ONE_IMAGE = 6
ALL = in_groups()
DSP = tuple(kind for kind in OPERATORS.names() if candidates(kind, "dsp"))
MVE = tuple(kind for kind in OPERATORS.names() if candidates(kind, "mve"))
SAMPLED = tuple(
    kinds if number % 3 == 0 else pytest.param(kinds, marks=pytest.mark.full)
    for number, kinds in enumerate(ALL)
)
"""All on the host; of other ways to run portable code a sample, unless all is asked for."""


def test_hundreds_of_examples_run_on_unicorn_by_default() -> None:
    groups = {one for one in SAMPLED if isinstance(one, str)} | set(DSP)
    kinds = {kind for group in groups for kind in group.split("+")}
    assert sum(len(list(OPERATORS[kind].examples())) for kind in kinds) >= 300


GCC, ZIG = TOOLCHAINS["arm_gcc"], TOOLCHAINS["zig"]


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("kind", ALL)
def test_reference_kernels_on_the_host_under_sanitizers(kind: str, tmp_path: Path) -> None:
    check(kind, load_board("host"), "host", HostCc(sanitize=True), tmp_path)


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("kind", SAMPLED)
def test_reference_kernels_on_a_cortex_m7(kind: str, tmp_path: Path) -> None:
    board = load_board("stm32f746")
    check(kind, board, "unicorn", GCC, tmp_path, libraries=("reference",))


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("kind", DSP)
def test_dsp_kernels_on_a_cortex_m7(kind: str, tmp_path: Path) -> None:
    check(kind, load_board("stm32f746"), "unicorn", GCC, tmp_path)


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("kind", DSP)
def test_dsp_kernels_on_a_cortex_m4_that_faults_on_misalignment(kind: str, tmp_path: Path) -> None:
    check(kind, load_board("netduinoplus2"), "qemu", GCC, tmp_path)


@pytest.mark.needs("arm_gcc", "qemu")
@pytest.mark.parametrize("kind", MVE)
def test_mve_kernels_on_a_cortex_m55(kind: str, tmp_path: Path) -> None:
    check(kind, load_board("mps3_an547"), "qemu", GCC, tmp_path)


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("kind", MVE)
def test_mve_kernels_by_clang(kind: str, tmp_path: Path) -> None:
    check(kind, load_board("mps3_an547"), "qemu", ZIG, tmp_path)


@pytest.mark.parametrize("kind", SAMPLED)
def test_kernels_by_clang(kind: str, tmp_path: Path) -> None:
    check(kind, load_board("stm32f746"), "unicorn", ZIG, tmp_path)
