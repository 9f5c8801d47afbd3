"""Recordings at a model's boundary: samples as they are, or the features of their windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from input_files import TONE, model, only, read, recorded, refused

from uhost.errors import ConfigError
from uhost.inputs._input import Prepared
from uhost.inputs.audio import AudioOptions
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array

ROOT = Path(__file__).resolve().parent.parent.parent


def test_samples_are_the_input_in_its_type(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.wav", TONE, rate_hz=1000)
    whole = read(path, model(1, 10, dtype=DType.INT16, scale=None))
    np.testing.assert_array_equal(only(whole)[0], TONE)
    assert whole.done == "0.010 s at 1,000 Hz; 1 input of 10 samples, as they are"
    real = read(path, model(1, 10, dtype=DType.FLOAT32, scale=None))
    np.testing.assert_array_equal(only(real)[0], TONE.astype(np.float32) / 32768)
    small = read(path, model(1, 10, scale=1 / 128))
    np.testing.assert_array_equal(only(small)[0], np.round(TONE / 256.0))
    assert small.done.endswith("divided by 32,768, quantised")


def test_long_recordings_are_several_inputs_and_short_ones_end_in_silence(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.wav", TONE, rate_hz=1000)
    several = read(path, model(1, 4, dtype=DType.INT16, scale=None))
    inputs = [item.inputs[0][0].tolist() for item in several.samples.items]
    assert inputs == [TONE[:4].tolist(), TONE[4:8].tolist()]
    assert several.done.startswith("0.010 s at 1,000 Hz, the last 0.002 s left out; 2 inputs")
    padded = read(path, model(1, 13, dtype=DType.INT16, scale=None))
    assert only(padded)[0].tolist() == [*TONE.tolist(), 0, 0, 0]
    assert padded.done.startswith("0.010 s at 1,000 Hz, then 0.003 s of silence;")


class Features:
    """An executor that gives the first samples of a window, and counts the windows."""

    def __init__(self, window: int, kind: Any = np.int8) -> None:
        self.inputs: tuple[_Port, ...] = (_Port((1, window), np.int16),)
        self.outputs = (_Port((2,), kind),)
        self.windows = 0

    def __enter__(self) -> Features:
        return self

    def __exit__(self, *_: object) -> None:
        self.inputs = ()

    def set_input(self, key: int, value: Array) -> None:
        assert value.dtype == np.int16
        self.heard = value

    def run(self) -> None:
        self.windows += 1

    def get_output(self, key: int) -> Array:
        values = [self.heard[0, 0] // 1000, self.windows]
        return np.array(values, self.outputs[0].numpy)


class _Port:
    def __init__(self, shape: tuple[int, ...], kind: Any) -> None:
        self.shape, self.numpy = shape, np.dtype(kind)
        self.elements = int(np.prod(shape))


def featured(path: Path, graph: Graph, features: Features, **options: Any) -> Prepared:
    made = AudioOptions(model="features.tflite", window_ms=4, stride_ms=2, **options)
    return read(path, graph, made, start=lambda _: features)


def test_features_of_windows_are_stacked(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.wav", TONE, rate_hz=1000)
    prepared = featured(path, model(1, 4), Features(4))
    inputs = [item.inputs[0][0].tolist() for item in prepared.samples.items]
    assert inputs == [[-15, 1, -9, 2], [-3, 3, 3, 4]]
    assert prepared.done == (
        "0.010 s at 1,000 Hz; 4 windows of 4 ms every 2 ms through features.tflite; "
        "2 inputs of 2 x 2 features"
    )
    real = featured(path, model(1, 8), Features(4, np.float32))
    assert only(real)[0].tolist() == [-30, 2, -18, 4, -6, 6, 6, 8]


def test_recordings_that_cannot_be_inputs(tmp_path: Path) -> None:
    graph = model(1, 10)
    stereo = recorded(tmp_path / "s.wav", TONE, channels=2)
    assert refused(stereo, graph) == (
        "a recording has one channel of 16-bit samples, this has 2 of 16 bits",
        "convert it: ffmpeg -i s.wav -ac 1 -c:a pcm_s16le s-16bit.wav",
    )
    wide = recorded(tmp_path / "w.wav", TONE, width=1)
    assert refused(wide, graph)[0].endswith("this has 1 of 8 bits")
    empty = recorded(tmp_path / "e.wav", TONE[:0])
    assert refused(empty, graph) == ("the recording holds no samples", "record it again")
    (tmp_path / "bad.wav").write_bytes(b"RIFF\0\0\0\0JUNK")
    assert refused(tmp_path / "bad.wav", graph)[0].startswith("the recording cannot be read: ")
    (tmp_path / "cut.wav").write_bytes(b"RI")
    assert refused(tmp_path / "cut.wav", graph)[0] == (
        "the recording cannot be read: it ends too early"
    )


def test_models_of_features_that_do_not_fit(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.wav", TONE, rate_hz=1000)

    def refused_with(graph: Graph, features: Features, **options: Any) -> tuple[str, str]:
        with pytest.raises(ConfigError) as caught:
            featured(path, graph, features, **options)
        return caught.value.what, caught.value.fix

    assert refused_with(model(1, 4), Features(5)) == (
        "'features.tflite' takes 5 values, a window of 4 ms at 1,000 Hz has 4 samples",
        "set window_ms, or give a recording of the rate that the model was made for",
    )
    assert refused_with(model(1, 5), Features(4)) == (
        "'features.tflite' gives 2 features of a window, which does not divide the 5 values of "
        "the input 'x'",
        "name the model that makes this model's features",
    )
    assert refused_with(model(1, 4), Features(4, np.int16)) == (
        "'features.tflite' gives features of int16, the input 'x' takes int8",
        "name the model that makes this model's features",
    )
    short = AudioOptions(model="features.tflite", window_ms=4, stride_ms=0.1)
    assert refused(path, model(1, 4), short) == (
        "stride_ms: 0.1 is less than a sample at 1,000 Hz",
        "give a longer stride",
    )
