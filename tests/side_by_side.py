"""Layers put side by side into one graph, so that one image runs them all, and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from weighted_layers import Layer

from uhost import driver
from uhost.config.board import Board
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Tensor
from uhost.kernels._partition import Selection
from uhost.runtime.compiled import Built, Source
from uhost.runtime.device import device
from uhost.runtime.module import start
from uhost.runtime.samples import random_sample
from uhost.toolchain._toolchain import TOOLCHAINS


def side_by_side(layers: list[Layer]) -> Graph:
    tensors: dict[str, Tensor] = {}
    operators = []
    for number, bound in enumerate(layers):
        inputs = [replace(t, name=f"l{number}_{t.name}") for t in bound.inputs if t is not None]
        outputs = [
            replace(t, name=f"l{number}_output{i or ''}") for i, t in enumerate(bound.outputs)
        ]
        tensors.update({tensor.name: tensor for tensor in (*inputs, *outputs)})
        names = tuple(tensor.name for tensor in inputs)
        results = tuple(tensor.name for tensor in outputs)
        operators.append(Operator(f"l{number}", bound.kind, names, results, bound.attributes))
    graph = Graph(
        "layers",
        tensors,
        tuple(operators),
        tuple(n for operator in operators for n in operator.inputs if not tensors[n].is_constant),
        tuple(name for operator in operators for name in operator.outputs),
    )
    graph.verify()
    return graph


def instructions(
    layers: Sequence[Layer], board: Board, runner: str, folder: Path
) -> list[tuple[Selection, int]]:
    """Returns the kernel of each layer, and the instructions that it takes."""
    graph = side_by_side(list(layers))
    compiled = driver.compile_models((Source(graph, "layers", b""),), board)
    lowered = compiled.models[0].lowered
    image = TOOLCHAINS["arm_gcc"].build(compiled.artifact, board, folder)
    where = replace(device(board.name, runner), board=board)
    with start(Built(compiled, image, folder), where) as executor:
        for index, value in random_sample(lowered.graph, 1).inputs.items():
            executor.set_input(index, value)
        executor.watch()
        executor.run()
        counts = executor.counts()
    assert counts is not None
    chosen = [lowered.selections[operator.name] for operator in lowered.graph.operators]
    return list(zip(chosen, counts.calls, strict=True))
