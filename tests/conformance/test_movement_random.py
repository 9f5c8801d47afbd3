"""Random files of operators that move elements: the exact references against both interpreters."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from interpreters import litert, micro_runtime, tflm
from oracle_inputs import draw_all
from random_movement import CASES, random_file
from side_by_side import side_by_side

from uhost import driver
from uhost.config.board import load_board
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ops._op import OPERATORS, Example, evaluate
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain.host_cc import HostCc

micro_runtime()

SAMPLE, FULL = 3, 40


def check(code: str, numbers: range) -> None:
    for number in numbers:
        rng = np.random.default_rng([number, zlib.crc32(code.encode())])
        content = random_file(code, rng)
        graph = FRONTEND.load(content, "drawn")
        inputs = draw_all(graph, "random", rng)
        ours = evaluate(graph, inputs)
        arrays = list(inputs.values())
        both = {
            "litert": litert(content, arrays),
            "tflm": tflm(content, arrays, len(graph.outputs)),
        }
        for oracle, theirs in both.items():
            for name, expected in zip(graph.outputs, theirs, strict=True):
                where = f"{oracle}, case {number}: {graph}"
                tolerance = 1e-5 if graph.tensors[name].dtype is DType.FLOAT32 else 0
                np.testing.assert_allclose(
                    ours[name].reshape(-1).astype(np.float64),
                    expected.reshape(-1).astype(np.float64),
                    rtol=0,
                    atol=tolerance,
                    err_msg=where,
                )


@pytest.mark.parametrize("code", CASES)
def test_a_sample_equals_both_interpreters(code: str) -> None:
    check(code, range(SAMPLE))


@pytest.mark.full
@pytest.mark.parametrize("code", CASES)
def test_the_family_equals_both_interpreters(code: str) -> None:
    check(code, range(SAMPLE, FULL))


def detections() -> list[Example]:
    return list(OPERATORS["detection_postprocess"].examples())


@pytest.mark.parametrize(
    "example", [pytest.param(e, id=e.name) for e in detections() if "two" not in e.name]
)
def test_detections_equal_those_of_tflite_micro(example: Example) -> None:
    from build_tflite import from_graph

    content, graph = from_graph(example.graph), example.graph
    for seed in range(20):
        inputs = draw_all(graph, "random", np.random.default_rng(seed))
        theirs = tflm(content, list(inputs.values()), len(graph.outputs))
        ours = [evaluate(graph, inputs)[name] for name in graph.outputs]
        count = int(theirs[3].reshape(-1)[0])
        assert ours[3][0] == count
        for own, other in zip(ours[:3], theirs[:3], strict=True):
            other = other.reshape(own.shape)[:, :count]
            np.testing.assert_allclose(own[:, :count], other, rtol=1e-5, atol=1e-6)


@pytest.mark.full
@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("code", CASES)
def test_portable_kernels_of_the_family(code: str, tmp_path: Path) -> None:
    graphs = [
        FRONTEND.load(random_file(code, np.random.default_rng([n, zlib.crc32(code.encode())])), "d")
        for n in range(FULL)
    ]
    graph = side_by_side([next(one.bound_operators()) for one in graphs])
    board = load_board("host")
    compiled = driver.compile_models((Source(graph, "drawn", b""),), board)
    image = HostCc(sanitize=True).build(compiled.artifact, board, tmp_path)
    lowered = compiled.models[0].lowered.graph
    with start(Built(compiled, image, tmp_path), device("host", "host")) as executor:
        sample = random_sample(lowered, 3)
        for index, value in sample.inputs.items():
            executor.set_input(index, value)
        executor.run()
        exact = evaluate(lowered, {n: sample.inputs[i] for i, n in enumerate(lowered.inputs)})
        for index, name in enumerate(lowered.outputs):
            own = executor.get_output(index)
            if own.dtype == np.float32:
                np.testing.assert_allclose(own, exact[name], rtol=1e-5, atol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(own, exact[name], name)
