"""The plans of the shared models are within a stated gap of what no plan can be smaller than."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packing_oracle import prove

from uhost import driver
from uhost.config.board import load_board
from uhost.config.compilation import Optimize

GAP = 0.04
"""By how much of the proven bound the arena of a shared model may be larger than it."""

QUICK = ("mcunet_vww", "mlperf_ad_int8", "mlperf_kws_int8", "tflm_person_detect_int8")
OTHERS = (
    *("arm_micronet_cifar_int8", "arm_micronet_kws_m_int8", "arm_yolo_fastest_face_int8"),
    *("coral_mobilenet_v1_uint8", "litert_fc_uint8io", "litert_uniseq_lstm_layernorm_int8"),
    *("mlperf_ic_int8", "mlperf_sww_int8", "mlperf_vww_int8", "nxp_fastestdet_int8"),
    *("st_yamnet_256_int8", "tflm_audio_preprocessor_int8", "tflm_dtln_int8"),
    *("tflm_hello_world_int8", "tflm_keyword_scrambled_int8", "tflm_micro_speech_int8"),
    *("tflm_mnist_lstm_int8", "tinymaix_mbnet96_int8", "tinymaix_mnist_int8"),
)


@pytest.mark.parametrize("optimize", ["speed", pytest.param("ram", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.full) for n in OTHERS)]
)
def test_the_arena_is_close_to_a_proven_bound(
    shared_models: Path, name: str, optimize: Optimize
) -> None:
    """Sums of bytes live at a step prove most plans; for the others the solver is asked.

    An arena ends on a multiple of its alignment, which the bound does not.
    """
    config = replace(driver.configure(load_board("stm32f746")), optimize=optimize)
    graphs = [source.graph for source in driver.load(shared_models / f"{name}.tflite")]
    for lowered in driver.lower_models(graphs, config):
        plan = lowered.plan
        bound = plan.lower_bound_bytes
        if plan.arena_bytes >= bound + plan.alignment_bytes:
            blocks = [block for block in plan.blocks if block.name not in lowered.graph.states]
            proven = prove(
                blocks,
                plan.alignment_bytes,
                plan.overlaps,
                known_bytes=plan.arena_bytes - plan.state_bytes,
            )
            bound = max(bound, plan.state_bytes + proven.least_bytes)
        assert bound <= plan.arena_bytes < (1 + GAP) * bound + plan.alignment_bytes


@pytest.mark.full
def test_no_eight_bit_model_is_left_out(shared_models: Path) -> None:
    listed = {*QUICK, *OTHERS}
    for path in sorted(shared_models.glob("*int8*.tflite")):
        assert path.stem in listed, path.stem
