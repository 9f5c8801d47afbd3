"""Small models for tests of modules: one convolution each, written as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from build_tflite import from_graph
from weighted_layers import PLAIN

from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.ops._op import OPERATORS, evaluate
from uhost.ops._weighted_examples import LayerStyle, layer_example
from uhost.runtime.device import Device
from uhost.runtime.module import Module


def small_graph(channels: int, names: dict[str, str] | None = None) -> Graph:
    """Returns a graph of one convolution, 4x4x3 in and 4x4x`channels` out.

    `names` renames its tensors: input, weights, bias, output.
    """
    infer: Any = OPERATORS["conv_2d"].infer
    shapes = ((1, 4, 4, 3), (channels, 1, 1, 3))
    name = f"conv{channels}"
    graph = layer_example(name, "conv_2d", PLAIN, *shapes, 0, infer, LayerStyle()).graph
    if not names:
        return graph

    def renamed(old: str) -> str:
        return names.get(old, old)

    return replace(
        graph,
        tensors={renamed(n): replace(t, name=renamed(n)) for n, t in graph.tensors.items()},
        inputs=tuple(map(renamed, graph.inputs)),
        outputs=tuple(map(renamed, graph.outputs)),
        operators=tuple(
            replace(o, inputs=tuple(map(renamed, o.inputs)), outputs=tuple(map(renamed, o.outputs)))
            for o in graph.operators
        ),
    )


def write_model(folder: Path, graph: Graph, name: str | None = None) -> Path:
    """Writes a graph as a model file and returns its path."""
    path = folder / f"{name or graph.name}.tflite"
    path.write_bytes(from_graph(graph))
    return path


def expected_output(graph: Graph, sample: Array) -> Array:
    """Returns what the exact reference makes of the only input."""
    return evaluate(graph, {graph.inputs[0]: sample})[graph.outputs[0]]


def small_sample(seed: int = 0) -> Array:
    """Returns a drawn input of `small_graph`."""
    generator = np.random.default_rng(seed)
    return generator.integers(-128, 128, (1, 4, 4, 3)).astype(np.int8)


TWO_MODELS = {"one": small_graph(5), "two": small_graph(9)}


def write_two_models(folder: Path) -> dict[str, Path]:
    """Writes the model files of `TWO_MODELS` and returns name → path."""
    return {name: write_model(folder, graph) for name, graph in TWO_MODELS.items()}


def check_two_models(module: Module, device: Device) -> None:
    """Asserts that both of `TWO_MODELS` run as the exact reference on a device."""
    for seed, (name, graph) in enumerate(TWO_MODELS.items()):
        given = small_sample(seed)
        with module[name](device) as executor:
            executor.set_input(0, given)
            executor.run()
            assert np.array_equal(executor.get_output(0), expected_output(graph, given))
