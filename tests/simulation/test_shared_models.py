"""Every shared TensorFlow Lite model that compiles meets its golden outputs on the host.

docs/models.md is the list: a model that it does not excuse has to compile.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from uhost import driver
from uhost.errors import UnsupportedOperatorError
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.ops._op import evaluate
from uhost.runtime.device import device
from uhost.runtime.evaluation import measure
from uhost.runtime.samples import Sample, read_samples

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "models.md"
EXCUSED = {
    found[1]: bool(found[2])
    for found in re.finditer(
        r"^\| (\w+) \| \d+ \| (\*\*does not compile\*\*)?", DOCUMENT.read_text(), re.MULTILINE
    )
}
QUICK = (
    *("litert_call_once_mul", "litert_fc_uint8io", "litert_int16_mul_add", "mww_v2_vad"),
    *("seanet_conv14_int16", "seanet_leaky_relu12_int16", "seanet_strided_slice13_int16"),
    *("seanet_transpose_conv4_int16", "silabs_autoencoder", "tflm_audio_preprocessor_int8"),
    *("tflm_hello_world_float", "tflm_hello_world_int8", "tflm_network_tester"),
)
"""Models that are built and run in less than two seconds."""

RUNS = 32
"""Fewest runs, one after another, of a model with states."""


def test_the_document_lists_every_model(shared_models: Path) -> None:
    assert sorted(EXCUSED) == sorted(path.stem for path in shared_models.glob("*.tflite"))


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in EXCUSED],
)
def test_model_meets_its_golden_outputs(shared_models: Path, name: str) -> None:
    model = shared_models / f"{name}.tflite"
    try:
        sources = driver.load(model)
    except UnsupportedOperatorError:
        assert EXCUSED[name], "docs/models.md says that it compiles"
        return
    built = driver.link(driver.compile_models(sources, "host"))
    graph = sources[0].graph
    samples = read_samples(shared_models / f"{name}.golden.npz", graph).items
    if graph.states:
        samples = continued(graph, samples)
    result = measure(built, device("host"), samples)
    assert len(result.comparisons) == len(samples) * len(graph.outputs)
    assert result.matches, [c for c in result.comparisons if not c.matches]
    if not any(graph.tensors[name].dtype.numpy.kind == "f" for name in graph.outputs):
        assert result.exact


def continued(graph: Graph, samples: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """Returns the samples over and over, `RUNS` at least, what follows the golden ones computed."""
    rounds: list[Sample] = list(samples)
    states: dict[str, Array] = dict(graph.states)
    for number in range(max(RUNS, len(samples))):
        inputs = samples[number % len(samples)].inputs
        given = {name: inputs[index] for index, name in enumerate(graph.inputs)}
        values = evaluate(graph, given, states)
        states = {name: values[name] for name in states}
        if number >= len(samples):
            outputs = {index: values[name] for index, name in enumerate(graph.outputs)}
            rounds.append(Sample(inputs, outputs))
    return tuple(rounds)
