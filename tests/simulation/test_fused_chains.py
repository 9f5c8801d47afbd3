"""Chains that passes made one operator: exact on devices, and named in what verify reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from build_tflite import from_graph
from click.testing import CliRunner
from drawn_graphs import Sketch

from uhost import driver
from uhost.cli import cli
from uhost.ir.graph import Graph
from uhost.ops._op import Activation, Padding2D
from uhost.ops.average_pool_2d import AveragePool2DAttributes
from uhost.ops.max_pool_2d import MaxPool2DAttributes
from uhost.ops.pad import PadAttributes
from uhost.ops.relu import ReluAttributes
from uhost.ops.relu6 import Relu6Attributes
from uhost.runtime.device import device
from uhost.runtime.evaluation import measure
from uhost.runtime.samples import random_sample


def chain(seed: int) -> Graph:
    """Returns pad, convolution, relu; pad, depthwise, relu6; pad, maximum; mean; one pixel."""
    sketch = Sketch(seed, (1, 9, 8, 4))
    sketch.add("pad", PadAttributes((0, 0, 1, 0), (0, 1, 1, 0), -128))
    sketch.convolution(8, (3, 3), stride=(2, 2))
    sketch.add("relu", ReluAttributes())
    sketch.add("pad", PadAttributes((0, 1, 0, 0), (0, 1, 2, 0), -128))
    sketch.convolution(1, (3, 3), depthwise=True)
    sketch.add("relu6", Relu6Attributes())
    sketch.add("pad", PadAttributes((0, 0, 0, 0), (0, 1, 1, 0), -128))
    sketch.add("max_pool_2d", MaxPool2DAttributes((2, 2), (2, 2), Padding2D(), Activation.NONE))
    rows, columns = sketch.tensors[sketch.last].shape[1:3]
    window = AveragePool2DAttributes((rows, columns), (1, 1), Padding2D(), Activation.NONE)
    sketch.add("average_pool_2d", window)
    sketch.convolution(5, (1, 1), zero_point=3)
    return sketch.graph()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chain") / "chain.tflite"
    path.write_bytes(from_graph(chain(1)))
    return path


@pytest.mark.parametrize(
    "board", ["stm32f746", pytest.param("host", marks=pytest.mark.needs("host_cc"))]
)
def test_a_fused_chain_is_exact_at_its_end(board: str, model: Path) -> None:
    built = driver.link(driver.compile_models(driver.load(model), board))
    graph = built.compiled.models[0].lowered.graph
    assert [one.kind for one in graph.operators] == [
        "conv_2d",
        "depthwise_conv_2d",
        "max_pool_2d",
        "average_pool_2d",
        "fully_connected",
    ]
    result = measure(built, device(board), (random_sample(graph),), layers=True)
    assert result.exact
    assert [one.title for one in result.comparisons] == [
        "conv_2d_1 (also pad_0, relu_2)",
        "depthwise_conv_2d_4 (also pad_3, relu6_5)",
        "max_pool_2d_7 (also pad_6)",
        "average_pool_2d_8",
        "conv_2d_9",
    ]


def test_verify_names_what_was_absorbed(model: Path) -> None:
    arguments = ["verify", str(model), "--board", "stm32f746"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "conv_2d_1 (also pad_0, relu_2)" in " ".join(done.stdout.split())
    done = CliRunner().invoke(cli, [*arguments, "--json"], catch_exceptions=False)
    first = json.loads(done.stdout)["results"][0]["comparisons"][0]
    assert first["operator"] == "conv_2d_1"
    assert first["tensor"] == "relu_2.out"
    assert first["absorbed"] == [
        {"operator": "pad_0", "tensor": "pad_0.out"},
        {"operator": "relu_2", "tensor": "conv_2d_1.out"},
    ]


def test_inspect_names_them_too(model: Path) -> None:
    arguments = ["inspect", str(model), "--board", "stm32f746"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert "(also pad_3," in done.stdout
    done = CliRunner().invoke(cli, [*arguments, "--json"], catch_exceptions=False)
    [record] = json.loads(done.stdout)["results"]
    assert [len(row["absorbed"]) for row in record["operators"]] == [2, 2, 1, 0, 0]
