"""Every pass keeps every output of the shared models, to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_graphs import CONFIG, check_shapes

from uhost.config.pass_context import PassContext
from uhost.errors import UnsupportedOperatorError
from uhost.frontends._frontend import load_model
from uhost.ir.module import IRModule
from uhost.passes._instruments import CheckPasses
from uhost.passes._pipeline import optimize

MODELS = (
    "arm_micronet_cifar_int8",
    "arm_micronet_kws_m_int8",
    "coral_mobilenet_v1_uint8",
    "litert_call_once_mul",
    "litert_fc_uint8io",
    "litert_int16_mul_add",
    "mediapipe_face_f16w",
    "mlperf_ad_float",
    "mlperf_ad_int8",
    "mlperf_ic_float",
    "mlperf_ic_int8",
    "mlperf_kws_int8",
    "mlperf_sww_int8",
    "mlperf_vww_float",
    "mlperf_vww_int8",
    "mww_v1_hey_jarvis",
    "mww_v2_okay_nabu",
    "mww_v2_vad",
    "pymicro_hey_jarvis",
    "seanet_conv14_int16",
    "seanet_strided_slice13_int16",
    "seanet_transpose_conv4_int16",
    "silabs_autoencoder",
    "silabs_magic_wand",
    "tflm_hello_world_float",
    "tflm_hello_world_int8",
    "tflm_micro_speech_int8",
    "tflm_network_tester",
    "tflm_person_detect_int8",
    "tinymaix_mbnet96_int8",
    "tinymaix_mnist_int8",
)


def prove(path: Path) -> None:
    graph = load_model(path)
    context = PassContext(opt_level=3, instruments=(CheckPasses(samples=1),))
    check_shapes(optimize(IRModule({graph.name: graph}, CONFIG), context).graphs[graph.name])


@pytest.mark.parametrize("name", MODELS)
def test_passes_keep_the_outputs_of_a_model(name: str, shared_models: Path) -> None:
    prove(shared_models / f"{name}.tflite")


@pytest.mark.full
def test_passes_keep_the_outputs_of_every_model_that_loads(shared_models: Path) -> None:
    proven = 0
    for path in sorted(shared_models.glob("*.tflite")):
        try:
            prove(path)
        except UnsupportedOperatorError:
            continue
        proven += 1
    assert proven >= len(MODELS)
