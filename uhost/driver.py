"""The straight line, from a model file to a running executor. Read this first.

    load     → optimize → select      → plan       → emit     → build → start     → run
    IRModule   IRModule   KernelCalls   MemoryPlan   Artifact   Image   Transport   outputs

Everything up to `emit` is a function of frozen values. Only the toolchain, the runners
and the transports touch the world.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from uhost import __version__
from uhost.codegen.artifact import Artifact
from uhost.codegen.emit import emit, model_table
from uhost.codegen.firmware import firmware_files
from uhost.codegen.lowered import Lowered
from uhost.codegen.names import identifier
from uhost.config.board import Board, load_board
from uhost.config.compilation import CompilationConfig, Pool
from uhost.config.pass_context import PassContext
from uhost.errors import ConfigError, OutOfMemoryError, ToolNotFoundError
from uhost.frontends._frontend import load_model
from uhost.ir.graph import Graph
from uhost.ir.module import IRModule
from uhost.kernels._kernel import select
from uhost.passes._pipeline import optimize
from uhost.planner import plan_memory, view_operators
from uhost.planner.fit import arena_too_large, check_fits
from uhost.resources import cache_folder
from uhost.runtime import build_folder
from uhost.runtime.compiled import Built, Compiled, CompiledModel, Source
from uhost.runtime.module import Module
from uhost.toolchain._programs import MisdirectedVariableError
from uhost.toolchain._toolchain import TOOLCHAINS, Toolchain

Models = str | Path | Sequence[str | Path] | Mapping[str, str | Path]
"""One model file, several, or name → file."""


def build(
    models: Models,
    board: str | Board,
    *,
    toolchain: str | None = None,
    context: PassContext | None = None,
) -> Module:
    """Returns the module of `models` for `board`: the whole line up to the executor.

    The C is generated at once; the toolchain runs when a factory first needs the image.
    """
    return as_module(compile_models(load(models), board, context=context), toolchain, context)


def as_module(
    compiled: Compiled, toolchain: str | None = None, context: PassContext | None = None
) -> Module:
    """Returns the module that holds compiled models."""
    return Module(
        compiled,
        compile_for=lambda one, other: compile_models(sources_of(one), other, context=context),
        link=lambda one: link(one, toolchain if one.board.board == compiled.board.board else None),
    )


def load_module(folder: str | Path) -> Module:
    """Returns the module that `uhost build` stored in `folder`; its image is run as it is."""
    stored = build_folder.read(Path(folder), compile_models)
    board = stored.compiled.board.board
    return Module(
        stored.compiled,
        compile_for=lambda one, other: compile_models(sources_of(one), other),
        link=lambda one: stored if one.board.board == board else link(one),
    )


def load(models: Models) -> tuple[Source, ...]:
    """Returns the models of files, each under its file's stem or the name it is given.

    Raises `ConfigError` for two models whose names give one C identifier.
    """
    named: list[tuple[str | None, Path]]
    if isinstance(models, Mapping):
        named = [(name, Path(path)) for name, path in models.items()]
    elif isinstance(models, str | Path):
        named = [(None, Path(models))]
    else:
        named = [(None, Path(path)) for path in models]
    sources: dict[str, Source] = {}
    for name, path in named:
        source = Source(load_model(path, name), path.name, path.read_bytes())
        key = identifier(source.graph.name)
        if key in sources:
            raise ConfigError(
                f"two models have the name '{key}'",
                where=f"{sources[key].file_name} and {path}",
                fix="give one another name: name=path",
            )
        sources[key] = source
    return tuple(sources.values())


def sources_of(compiled: Compiled) -> tuple[Source, ...]:
    """Returns the models of a compilation as they were loaded."""
    return tuple(model.source for model in compiled.models)


def compile_models(
    sources: Sequence[Source],
    board: str | Board,
    *,
    config: CompilationConfig | None = None,
    context: PassContext | None = None,
) -> Compiled:
    """Returns the C of loaded models for a board: optimize, select, plan, emit."""
    found = load_board(board) if isinstance(board, str) else board
    config = config or configure(found)
    graphs = {source.graph.name: source.graph for source in sources}
    module = optimize(IRModule(graphs, config), context or PassContext())
    models = tuple(
        CompiledModel(source, lower(module.graphs[source.graph.name], config)) for source in sources
    )
    lowered = [model.lowered for model in models]
    for one in lowered:
        check_fits(one.graph, one.plan, one.constant_bytes(), found)
    artifact = emit(lowered, config.executor, __version__).with_files(firmware_files(found))
    digest = artifact.digest()
    table = model_table(lowered, config.executor, digest, found.name).encode()
    return Compiled(
        models, found, config, artifact.with_files({"firmware/model_table.c": table}), digest
    )


def configure(board: Board) -> CompilationConfig:
    """Returns the constraints a board puts on a compilation, paired with this machine."""
    ram = next((r for r in board.regions if r.name == board.ram), None)
    flash = next((r for r in board.regions if r.name == board.flash), None)
    workspace = Pool(ram.name, ram.size_bytes - board.stack_bytes) if ram else Pool("ram")
    return CompilationConfig(
        host=load_board("host").target,
        targets=(board.target,),
        workspace_pools=(workspace,),
        constant_pools=(Pool(flash.name, flash.size_bytes) if flash else Pool("flash"),),
    )


def lower(graph: Graph, config: CompilationConfig) -> Lowered:
    """Returns the graph with a kernel per operator and a place for every tensor."""
    views = view_operators(graph)
    selections = select(graph, config.target, views)
    scratch = {name: s.call.scratch_bytes for name, s in selections.items()}
    pool = config.workspace_pools[0]
    plan = plan_memory(graph, views, scratch, pool, config.executor.alignment_bytes)
    return Lowered(graph, selections, plan)


def model_sources(compiled: Compiled) -> Artifact:
    """Returns what belongs to the user's own application: the model, without the firmware."""
    return Artifact({p: c for p, c in compiled.artifact.files.items() if "/" not in p})


def choose_toolchain(board: Board, name: str | None = None) -> Toolchain:
    """Returns the toolchain `name`, or the first one installed that builds for `board`."""
    if name is not None:
        toolchain = TOOLCHAINS[name]
        if reason := toolchain.supports(board):
            raise ConfigError(f"the toolchain '{name}' does not build for '{board.name}': {reason}")
        return toolchain
    missing: list[str] = []
    for toolchain in TOOLCHAINS:
        if toolchain.supports(board):
            continue
        try:
            toolchain.locate()
        except MisdirectedVariableError:
            raise  # another tool would not be what the user asked for
        except ToolNotFoundError as error:
            missing.append(f"{toolchain.name}: {error.what} ({error.fix})")
            continue
        return toolchain
    raise ToolNotFoundError(
        f"no toolchain that builds for '{board.name}' is installed",
        where="; ".join(missing),
        fix="run `uhost doctor`",
    )


def link(compiled: Compiled, toolchain: str | None = None, folder: Path | None = None) -> Built:
    """Returns the image of a compiled model, built in `folder` (default: a cache by digest)."""
    chosen = choose_toolchain(compiled.board, toolchain)
    if folder is None:
        board = re.sub(r"\W+", "_", compiled.board.name)
        names = "-".join(compiled.names)[:60]
        name = f"{names}-{board}-{chosen.name}-{compiled.digest[:16]}"
        folder = cache_folder() / "images" / name
    compiled.artifact.write(folder)
    try:
        image = chosen.build(compiled.artifact, compiled.board, folder)
    except OutOfMemoryError as error:
        raise _with_peak(error, compiled) from error
    return Built(compiled, image, folder)


def _with_peak(error: OutOfMemoryError, compiled: Compiled) -> OutOfMemoryError:
    """Returns the linker's complaint with the tensors that make the largest arena."""
    largest = max((m.lowered for m in compiled.models), key=lambda one: one.plan.arena_bytes)
    peak = arena_too_large(largest.graph, largest.plan, compiled.board, 0).what
    return OutOfMemoryError(
        f"{error.what}\n{peak[peak.index('The arena takes') :]}", error.where, error.fix
    )
