"""Every kernel states its cost, and portable C executes what it states, kind by kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from uhost import driver
from uhost.config.board import load_board
from uhost.kernels._kernel import built_in_libraries, library
from uhost.ops._op import OPERATORS
from uhost.runtime.compiled import Built
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain._toolchain import TOOLCHAINS

BOARD = load_board("stm32f746")

WITHOUT = {
    "bidirectional_sequence_lstm",  # runs graphs
    "conditional",  # runs graphs
    "detection_postprocess",  # takes what the boxes that remain make it take
    "loop",  # runs a graph as often as its data say
}
"""Kernels whose work is not known before they run."""

A_FEW = 24
"""Instructions that an estimate may be off besides its share."""

BY_DATA = {
    "quantize": 0.5,  # values beyond the range are cut off early
    "softmax": 0.25,
    "unidirectional_sequence_lstm": 0.03,
}
LOOSE = {
    "add": 0.13,  # GCC spills by shape
    "concatenation": 0.09,
    "max_pool_2d": 0.04,
    "mean": 0.08,
}
MODELS = ["tflm_audio_preprocessor_int8", "silabs_autoencoder", "mww_v2_okay_nabu"]
MORE_MODELS = [
    "silabs_magic_wand",
    "tflm_mnist_lstm_int8",
    "litert_uniseq_lstm_layernorm_int8",
    "mww_v1_hey_jarvis",
    "st_yamnet_256_int8",
    "tflm_keyword_scrambled_int8",
    "tflm_dtln_int8",
    "mlperf_kws_float",
    "nxp_fastestdet_int8",
    "arm_yolo_fastest_face_int8",
    "litert_fc_uint8io",
    "tinymaix_mnist_int8",
]


def test_every_kernel_states_its_cost() -> None:
    silent = {
        name
        for one in built_in_libraries()
        for name in library(one).names()
        if library(one)[name].cost is None
    }
    assert silent == WITHOUT


@pytest.mark.parametrize("name", library("reference").names())
def test_a_cost_is_stated_for_every_example(name: str) -> None:
    kernel = library("reference")[name]
    if kernel.cost is None or kernel.lower_calling is not None:
        return
    stated = 0
    for example in OPERATORS[kernel.operator].examples():
        for bound in example.graph.bound_operators():
            if bound.kind == kernel.operator and not kernel.supports(bound):
                cost = kernel.cost(bound, kernel.lower(bound))
                assert cost.work.instructions > 0
                assert cost.code_bytes > 0
                stated += 1
    assert stated > 0


def check(model: Path, folder: Path) -> None:
    """Fails where a portable kernel of a model takes other than it states."""
    compiled = driver.compile_models(driver.load([model]), BOARD)
    lowered = compiled.models[0].lowered
    image = TOOLCHAINS["arm_gcc"].build(compiled.artifact, BOARD, folder)
    with start(Built(compiled, image, folder), device(BOARD.name, "unicorn")) as executor:
        for index, value in random_sample(lowered.graph, 1).inputs.items():
            executor.set_input(index, value)
        profile = executor.profile()
    checked = 0
    for operator in lowered.graph.operators:
        selection = lowered.selections.get(operator.name)
        if selection is None or selection.library != "reference":
            continue
        cost, measured = selection.variant.cost, profile[operator.name].instructions
        assert cost is not None, operator.name
        assert measured is not None
        share = BY_DATA.get(operator.kind, LOOSE.get(operator.kind, 0.03))
        off = abs(cost.work.instructions - measured)
        assert off <= share * measured + A_FEW, (selection.name, operator.name, measured, cost)
        checked += 1
    assert checked > 0


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("model", MODELS)
def test_portable_kernels_execute_what_they_state(
    model: str, shared_models: Path, tmp_path: Path
) -> None:
    check(shared_models / f"{model}.tflite", tmp_path)


@pytest.mark.full
@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize("model", MORE_MODELS)
def test_portable_kernels_execute_what_they_state_in_more_models(
    model: str, shared_models: Path, tmp_path: Path
) -> None:
    check(shared_models / f"{model}.tflite", tmp_path)
