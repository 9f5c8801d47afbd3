"""Audio front ends: a stream of frames through the signal operators, exact at each."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from audio_front_end import chirp, front_end
from build_tflite import from_graph
from interpreters import micro_runtime

from uhost import driver
from uhost.frontends.tflite import FRONTEND
from uhost.ops._op import evaluate
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.module import start

FRAMES = 40
LABELS = ("silence", "unknown", "yes", "no")


def built_for(board: str, toolchain: str) -> Built:
    content = from_graph(front_end())
    source = Source(FRONTEND.load(content, "front_end"), "front_end", content)
    return driver.link(driver.compile_models((source,), board), toolchain)


@pytest.mark.parametrize(
    ("board", "runner", "toolchain"),
    [
        pytest.param("stm32f746", "unicorn", "zig", id="cortex-m7"),
        pytest.param("host", "host", "host_cc", id="host", marks=pytest.mark.needs("host_cc")),
    ],
)
def test_a_front_end_is_exact_frame_after_frame(board: str, runner: str, toolchain: str) -> None:
    graph = front_end()
    with start(built_for(board, toolchain), device(board, runner)) as executor:
        for _ in range(2):
            states = graph.states
            for frame in range(FRAMES):
                samples = chirp(frame)
                executor.set_input(0, samples)
                executor.run()
                expected = evaluate(graph, {"samples": samples}, states)
                states = {name: expected[name] for name in states}
                np.testing.assert_array_equal(executor.get_output(0), expected["features"])
            executor.reset()


def test_a_front_end_equals_tflite_micro_frame_after_frame() -> None:
    runtime = micro_runtime()
    graph = front_end()
    interpreter = runtime.Interpreter.from_bytes(from_graph(graph), arena_size=1 << 16)
    states, made = graph.states, []
    for frame in range(FRAMES):
        interpreter.set_input(chirp(frame), 0)
        interpreter.invoke()
        expected = evaluate(graph, {"samples": chirp(frame)}, states)
        states = {name: expected[name] for name in states}
        np.testing.assert_array_equal(expected["features"], interpreter.get_output(0))
        made.append(expected["features"])
    assert len(np.unique(made)) > 100  # it hears something


def samples_of(path: Path) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("said", ["yes", "no", "silence"])
def test_micro_speech_hears_a_recording(shared_models: Path, said: str) -> None:
    where = device("host", "host")
    names = ("tflm_audio_preprocessor_int8", "tflm_micro_speech_int8")
    preprocessor, classifier = (
        driver.link(driver.compile_models(driver.load(shared_models / f"{n}.tflite"), "host"))
        for n in names
    )
    samples = samples_of(shared_models / "samples" / f"{said}_1000ms.wav")
    features = []
    with start(preprocessor, where) as executor:
        for begin in range(0, len(samples) - 479, 320):  # 30 ms every 20 ms
            executor.set_input(0, samples[None, begin : begin + 480])
            executor.run()
            features.append(executor.get_output(0))
    assert len(features) == 49
    with start(classifier, where) as executor:
        executor.set_input(0, np.concatenate(features)[None])
        executor.run()
        assert LABELS[int(executor.get_output(0).argmax())] == said
