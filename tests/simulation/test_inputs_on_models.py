"""Images, recordings and floats at the command line, against what the models are known to give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from uhost import driver
from uhost.cli.bench import COMMAND as BENCH
from uhost.cli.run import COMMAND
from uhost.cli.verify import COMMAND as VERIFY
from uhost.ir.tensor import Array
from uhost.runtime.device import cpu

pytestmark = pytest.mark.needs("host_cc")


def run(*arguments: object) -> str:
    made = CliRunner().invoke(COMMAND, [str(one) for one in arguments], catch_exceptions=False)
    assert made.exit_code == 0
    return made.stdout


def result(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json"))["results"][0]
    return found


def arrays(path: Path) -> dict[str, Array]:
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.fixture
def speech(shared_models: Path, tmp_path: Path) -> Path:
    path = tmp_path / "uhost.yaml"
    path.write_text(
        f"""\
models: {{micro_speech: {shared_models / "tflm_micro_speech_int8.tflite"}}}
board: host
run:
  preprocess:
    micro_speech:
      kind: audio
      model: {shared_models / "tflm_audio_preprocessor_int8.tflite"}
      window_ms: 30
      stride_ms: 20
  labels: {{micro_speech: [silence, unknown, yes, no]}}
"""
    )
    return path


@pytest.mark.parametrize(("sample", "said"), [(0, "yes"), (1, "no"), (2, "silence")])
def test_micro_speech_says_what_a_recording_says(
    shared_models: Path, speech: Path, tmp_path: Path, sample: int, said: str
) -> None:
    recording = shared_models / "samples" / f"{said}_1000ms.wav"
    out = tmp_path / "out.npz"
    given = ("--project", speech, "--model", "micro_speech", "--input", recording)
    found = result(*given, "--output", out)
    (classes,) = found["classes"]
    assert classes[0]["label"] == said
    assert [one["score"] for one in classes] == sorted((c["score"] for c in classes), reverse=True)
    golden = arrays(shared_models / "tflm_micro_speech_int8.golden.npz")
    np.testing.assert_array_equal(arrays(out)["s0_out_0"], golden[f"s{sample}_out_0"])
    assert "49 windows of 30 ms every 20 ms" in found["prepared"]


def test_the_classes_are_shown_in_order_and_aligned(shared_models: Path, speech: Path) -> None:
    recording = shared_models / "samples" / "yes_1000ms.wav"
    lines = run("--project", speech, "--input", recording).splitlines()
    assert lines[1].startswith("input: 1.000 s at 16,000 Hz, the last 0.010 s left out; 49 windows")
    table = [line.rstrip() for line in lines[3:9]]
    assert table[0] == "class     score"
    assert table[2:] == [
        "yes       0.996",
        "silence   0.000",
        "unknown   0.000",
        "no        0.000",
    ]


def test_labels_of_an_unknown_model_are_refused(shared_models: Path, speech: Path) -> None:
    speech.write_text(speech.read_text().replace("labels: {micro_speech", "labels: {micro_spech"))
    recording = shared_models / "samples" / "yes_1000ms.wav"
    made = CliRunner().invoke(COMMAND, ["--project", str(speech), "--input", str(recording)])
    assert getattr(made.exception, "what", "") == "there is no model 'micro_spech'"
    assert getattr(made.exception, "fix", "").startswith("did you mean 'micro_speech'?")


def test_an_image_is_what_the_array_of_its_pixels_is(shared_models: Path, tmp_path: Path) -> None:
    raw = shared_models / "samples" / "vww_input0_96x96_grey_u8.bin"
    pixels = np.fromfile(raw, np.uint8).reshape(96, 96)
    image, out = tmp_path / "vww.bmp", tmp_path / "out.npz"
    Image.fromarray(np.repeat(pixels[:, :, None], 3, axis=2)).save(image)
    (tmp_path / "labels.txt").write_text("nobody\nperson\n")
    model = shared_models / "mlperf_vww_int8.tflite"
    labels = ("--labels", tmp_path / "labels.txt", "--output", out)
    found = result(model, "--board", "host", "--input", image, *labels)
    golden = arrays(shared_models / "mlperf_vww_int8.golden.npz")
    np.testing.assert_array_equal(arrays(out)["s0_out_0"], golden["s0_out_0"])
    assert found["classes"][0][0]["label"] == "person"
    assert found["prepared"] == "96 x 96 RGB; int8 input is pixel - 128"
    # The same as real numbers: what the model was trained on.
    np.save(tmp_path / "real.npy", golden["s0_in_0"].astype(np.float32) / 255 + 128 / 255)
    real = result(model, "--board", "host", "--input", tmp_path / "real.npy", "--quantize-input")
    assert [one["score"] for one in real["classes"][0]] == [
        one["score"] for one in found["classes"][0]
    ]


def test_golden_inputs_may_be_floats(shared_models: Path, tmp_path: Path) -> None:
    golden = arrays(shared_models / "tflm_micro_speech_int8.golden.npz")
    scale = 0.10171568393707275
    real = ((golden["s0_in_0"].astype(np.float64) + 128) * scale).astype(np.float32)
    content = (shared_models / "tflm_micro_speech_int8.tflite").read_bytes()
    model = tmp_path / "speech.tflite"
    model.write_bytes(content)
    given: dict[str, Any] = {"s0_in_0": real, "s0_out_0": golden["s0_out_0"]}
    np.savez(tmp_path / "speech.golden.npz", **given)
    for verb, arguments in (
        (VERIFY, ["--golden", str(tmp_path / "speech.golden.npz")]),
        (BENCH, []),
    ):
        asked = [str(model), "--board", "host", *arguments]
        made = CliRunner().invoke(verb, asked)
        assert "give --quantize-input to quantise it" in getattr(made.exception, "fix", "")
        made = CliRunner().invoke(verb, [*asked, "--quantize-input", "--json"])
        assert json.loads(made.stdout)["results"][0]["exact"] is True


def test_test_images_of_signed_bytes_are_read_as_such(shared_models: Path, tmp_path: Path) -> None:
    project, out = tmp_path / "uhost.yaml", tmp_path / "out.npz"
    project.write_text(
        f"models: {{person: {shared_models / 'tflm_person_detect_int8.tflite'}}}\nboard: host\n"
        "run:\n  preprocess:\n    person: {kind: image, pixels: signed}\n"
        "  labels: [nobody, person]\n"
    )
    golden = arrays(shared_models / "tflm_person_detect_int8.golden.npz")
    for sample, (name, label) in enumerate((("person", "person"), ("no_person", "nobody"))):
        image = shared_models / "samples" / f"{name}.bmp"
        found = result("--project", project, "--input", image, "--output", out)
        assert found["classes"][0][0]["label"] == label
        np.testing.assert_array_equal(arrays(out)["s0_out_0"], golden[f"s{sample}_out_0"])


def test_an_executor_quantises_and_dequantises(shared_models: Path) -> None:
    path = shared_models / "tflm_micro_speech_int8.tflite"
    golden = arrays(shared_models / "tflm_micro_speech_int8.golden.npz")
    with driver.build({"speech": path}, "host")["speech"](cpu(0)) as executor:
        tensor = executor.inputs[0]
        real = (golden["s0_in_0"].astype(np.float64) - tensor.zero_point[0]) * tensor.scale[0]
        executor.set_input(0, real, quantize=True)
        executor.run()
        np.testing.assert_array_equal(executor.get_output(0), golden["s0_out_0"])
        scores = executor.get_output(0, dequantize=True)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, (golden["s0_out_0"].astype(np.float32) + 128) / 256)
