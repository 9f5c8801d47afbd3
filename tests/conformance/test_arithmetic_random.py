"""Random files of operators that compute: the exact references against both interpreters.

Types, scales, shapes and edge values are drawn; some scales have few digits, whose quotients
lead to ties. `random_arithmetic.CASES` says which interpreter is asked about which type.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from interpreters import litert, micro_runtime, tflm
from random_arithmetic import CASES, feed, random_file
from side_by_side import side_by_side

from uhost import driver
from uhost.config.board import load_board
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.ops._op import evaluate
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.toolchain.host_cc import HostCc

micro_runtime()

SAMPLE, FULL, KERNELS = 2, 40, 6
FAMILIES = [
    pytest.param(code, dtype, id=f"{code}-{dtype}")
    for code, family in CASES.items()
    for dtype in family.oracles
]


def case(code: str, dtype: DType, number: int) -> tuple[bytes, Graph, dict[str, Array]]:
    rng = np.random.default_rng([number, zlib.crc32(f"{code} {dtype}".encode())])
    content = random_file(code, dtype, rng)
    graph = FRONTEND.load(content, "drawn")
    return content, graph, {name: feed(graph.tensors[name], rng) for name in graph.inputs}


def compare(ours: Array, theirs: Array, where: str) -> None:
    own, other = (array.reshape(-1).astype(np.float64) for array in (ours, theirs))
    if ours.dtype != np.float32:
        np.testing.assert_array_equal(own, other, where)
        return
    tolerance = 1e-6 + 1e-5 * float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    np.testing.assert_allclose(own, other, rtol=0, atol=tolerance, err_msg=where)


def check(code: str, dtype: DType, numbers: range) -> None:
    for number in numbers:
        content, graph, inputs = case(code, dtype, number)
        ours, arrays = evaluate(graph, inputs), list(inputs.values())
        for oracle in sorted(CASES[code].oracles[dtype]):
            ask = litert if oracle == "litert" else lambda c, i: tflm(c, i, 1)
            for name, theirs in zip(graph.outputs, ask(content, arrays), strict=True):
                compare(ours[name], theirs, f"{oracle}, case {number}: {graph}")


@pytest.mark.parametrize(("code", "dtype"), FAMILIES)
def test_a_sample_equals_the_interpreters(code: str, dtype: DType) -> None:
    check(code, dtype, range(SAMPLE))


@pytest.mark.full
@pytest.mark.parametrize(("code", "dtype"), FAMILIES)
def test_the_family_equals_the_interpreters(code: str, dtype: DType) -> None:
    check(code, dtype, range(SAMPLE, FULL))


@pytest.mark.full
@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("code", CASES)
def test_portable_kernels_of_the_family(code: str, tmp_path: Path) -> None:
    cases = [case(code, d, n) for d in CASES[code].oracles for n in range(KERNELS)]
    graph = side_by_side([bound for _, one, _ in cases for bound in one.bound_operators()])
    board = load_board("host")
    compiled = driver.compile_models((Source(graph, "drawn", b""),), board)
    image = HostCc(sanitize=True).build(compiled.artifact, board, tmp_path)
    lowered = compiled.models[0].lowered.graph
    rng = np.random.default_rng(zlib.crc32(code.encode()))
    inputs = {name: feed(lowered.tensors[name], rng) for name in lowered.inputs}
    with start(Built(compiled, image, tmp_path), device("host", "host")) as executor:
        for index, value in enumerate(inputs.values()):
            executor.set_input(index, value)
        executor.run()
        exact = evaluate(lowered, inputs)
        for index, name in enumerate(lowered.outputs):
            compare(executor.get_output(index), exact[name], name)
