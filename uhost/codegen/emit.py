"""Prints lowered models as one C file and one header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from uhost.codegen._printer import Printer, port
from uhost.codegen.artifact import Artifact
from uhost.codegen.c_interface import interface_files
from uhost.codegen.environment import render
from uhost.codegen.firmware import ARENA_SECTION
from uhost.codegen.lowered import Lowered, arena_sizes, arenas
from uhost.config.board import Board
from uhost.config.compilation import CompilationConfig, Executor
from uhost.kernels._kernel import library


def emit(models: Sequence[Lowered], config: CompilationConfig, version: str) -> Artifact:
    """Returns `model.c` and `model.h` with every model; equal kernels are printed once.

    With a C prefix, microTVM's C interface of every model as well.
    """
    executor = config.executor
    alignment_bytes = config.usable_constant_pools()[0].alignment_bytes
    values = Printer(models, executor.link_params, alignment_bytes).template_values(version)
    values["extension"] = _extension(models)
    values["cpu"] = config.targets[0].cpu
    return Artifact(
        {
            "model.c": render("model.c.j2", values).encode(),
            "model.h": render("model.h.j2", values).encode(),
            **interface_files(models, executor),
        }
    )


_EXTENSIONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "mve": ("Helium extension (MVE)", "__ARM_FEATURE_MVE"),
        "dsp": ("DSP extension", "__ARM_FEATURE_DSP"),
    }
)


def _extension(models: Sequence[Lowered]) -> tuple[str, str] | None:
    """Returns name and compiler macro of the Arm extension that some kernel needs."""
    selections = [s for one in models for s in one.selections.values() if s.target == "cortex_m"]
    needed = {feature for s in selections for feature in library(s.library)[s.name].features}
    needed |= {f for s in selections for routine in s.call.routines for f in routine.features}
    return next((_EXTENSIONS[name] for name in _EXTENSIONS if name in needed), None)


def model_table(
    models: Sequence[Lowered], executor: Executor, digest: str, board: Board, arena: str
) -> str:
    """Returns `model_table.c`, by which the firmware's RPC server knows the models.

    `arena` names the region of the arena; where it is not the board's RAM, the linker
    script has a section for it.
    """
    apart = arena != board.ram and any(region.name == arena for region in board.regions)
    arena_of = arenas(models, executor)
    rows = [
        {
            "name": one.identifier,
            "inputs": [port(one.graph.tensors[n], one.plan) for n in one.graph.inputs],
            "outputs": [port(one.graph.tensors[n], one.plan) for n in one.graph.outputs],
            "arena": arena_of[one.identifier],
            "has_state": bool(one.plan.state_bytes),
        }
        for one in models
    ]
    return render(
        "model_table.c.j2",
        {
            "models": rows,
            "arenas": list(arena_sizes(models, executor).items()),
            "alignment_bytes": max(
                (one.plan.alignment_bytes for one in models), default=executor.alignment_bytes
            ),
            "section": ARENA_SECTION if apart else "",
            "link_params": executor.link_params,
            "params_placement": executor.params_placement,
            "digest": digest,
            "board": board.name,
        },
    )
