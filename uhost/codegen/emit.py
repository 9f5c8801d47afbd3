"""Prints lowered models as one C file and one header."""

from __future__ import annotations

from collections.abc import Sequence

from uhost.codegen._printer import Printer, port
from uhost.codegen.artifact import Artifact
from uhost.codegen.environment import render
from uhost.codegen.lowered import Lowered
from uhost.config.compilation import Executor


def emit(models: Sequence[Lowered], executor: Executor, version: str) -> Artifact:
    """Returns `model.c` and `model.h` with every model; equal kernels are printed once."""
    values = Printer(models, executor.link_params).template_values(version)
    return Artifact(
        {
            "model.c": render("model.c.j2", values).encode(),
            "model.h": render("model.h.j2", values).encode(),
        }
    )


def model_table(models: Sequence[Lowered], executor: Executor, digest: str, board: str) -> str:
    """Returns `model_table.c`, by which the firmware's RPC server knows the models."""
    rows = [
        {
            "name": one.identifier,
            "inputs": [port(one.graph.tensors[n], one.plan) for n in one.graph.inputs],
            "outputs": [port(one.graph.tensors[n], one.plan) for n in one.graph.outputs],
            "arena": "arena" if executor.shared_arena else f"{one.identifier}_arena",
        }
        for one in models
    ]
    sizes = [one.plan.arena_bytes for one in models]
    arenas = (
        [("arena", max(sizes, default=0))]
        if executor.shared_arena
        else [(f"{one.identifier}_arena", one.plan.arena_bytes) for one in models]
    )
    return render(
        "model_table.c.j2",
        {
            "models": rows,
            "arenas": arenas,
            "alignment_bytes": executor.alignment_bytes,
            "link_params": executor.link_params,
            "digest": digest,
            "board": board,
        },
    )
