"""Mutated `.tflite` files load or are refused with a `ModelError`, in bounded memory and time.

`UHOST_FUZZ_COUNT` sets the number of mutations per test, 600 without it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from build_tflite import OPTION_TABLES, from_graph
from raw_tflite import CODE, RawModel, RawOperator, RawTensor

from uhost.ops._op import OPERATORS
from uhost.resources import bundled_model

COUNT = int(os.environ.get("UHOST_FUZZ_COUNT", "600"))
SLOWEST_S = 5.0
"""Far over the milliseconds that loading takes, far under what an endless loop takes."""


def fuzz(models: Sequence[Path], seed: str = "uhost", count: int = COUNT) -> dict[str, int]:
    """Returns how often each outcome came; fails on any that is no graph and no `ModelError`."""
    command = [sys.executable, "-W", "error", str(Path(__file__).with_name("mutate_tflite.py"))]
    command += [*map(str, models), "--count", str(count), "--seed", seed]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=30 + 0.1 * count, check=False
    )
    assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout}\n{result.stderr}"
    report = json.loads(result.stdout)
    assert report["slowest_s"] < SLOWEST_S
    assert sum(report["outcomes"].values()) == count
    outcomes: dict[str, int] = report["outcomes"]
    return outcomes


def test_bundled_model() -> None:
    outcomes = fuzz([bundled_model()])
    # All ways out are taken: the mutations reach deep enough, and not only into the weights.
    for outcome in ("Graph", "MalformedModelError", "UnsupportedOperatorError"):
        assert outcomes[outcome] > 0


def test_one_operator_of_each_kind(tmp_path: Path) -> None:
    models = [tmp_path / "raw.tflite", tmp_path / "unsupported.tflite"]
    models[0].write_bytes(RawModel().build())
    models[1].write_bytes(
        RawModel(
            [*RawModel().tensors, RawTensor("text", (2, 3), 5), RawTensor("state", (4,))],
            [RawOperator(0), RawOperator(1, (0, 4), (3,), "", (), b"\1\2\3\4")],
            codes=[(CODE.ADD, CODE.ADD, None), (CODE.CUSTOM, CODE.CUSTOM, "Strange")],
        ).build()
    )
    for kind in OPERATORS:
        if kind.name.upper() in OPTION_TABLES:
            for example in list(kind.examples())[:4]:
                models.append(tmp_path / f"{kind.name}_{example.name}.tflite")
                models[-1].write_bytes(from_graph(example.graph))
    assert fuzz(models, count=2 * COUNT)["Graph"] > 0


PRODUCERS = {
    "MLPerf Tiny": "mlperf_kws_int8",
    "TensorFlow 1": "tflm_micro_speech_int8",
    "TFLite Micro": "tflm_audio_preprocessor_int8",
    "LiteRT": "litert_call_once_mul",
    "ESPHome": "mww_v2_okay_nabu",
    "Arm": "arm_micronet_kws_m_int8",
    "TinyNeuralNetwork": "mcunet_vww",
    "TinyMaix": "tinymaix_mbnet96_int8",
    "Silicon Labs": "silabs_magic_wand",
    "NXP": "nxp_fastestdet_int8",
    "Coral": "coral_mobilenet_v1_uint8",
    "MediaPipe": "mediapipe_face_f16w",
    "Google SEANet": "seanet_transpose_conv4_int16",
    "ST": "st_yamnet_256_int8",
}
"""Who made a public model, with which tools of theirs → the model."""


@pytest.mark.parametrize("count", [100, pytest.param(2000, marks=pytest.mark.full)])
def test_models_of_many_producers(shared_models: Path, count: int) -> None:
    models = [shared_models / f"{name}.tflite" for name in PRODUCERS.values()]
    assert len(models) >= 10
    assert fuzz(models, seed="producers", count=count)["MalformedModelError"] > count // 10


@pytest.mark.parametrize(
    "name", ["mlperf_ad_int8", "mlperf_kws_int8", "mww_v2_vad", "tflm_person_detect_int8"]
)
def test_public_models(shared_models: Path, name: str) -> None:
    assert fuzz([shared_models / f"{name}.tflite"])["MalformedModelError"] > 0
