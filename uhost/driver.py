"""The straight line, from a model file to a running executor. Read this first.

    load     → optimize → select      → plan       → emit     → build → start     → run
    IRModule   IRModule   KernelCalls   MemoryPlan   Artifact   Image   Transport   outputs

Everything up to `emit` is a function of frozen values. Only the toolchain, the runners
and the transports touch the world.
"""

from __future__ import annotations

import re
from pathlib import Path

from uhost import __version__
from uhost.codegen.artifact import Artifact
from uhost.codegen.emit import Lowered, emit, model_table
from uhost.codegen.firmware import firmware_files
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
from uhost.runtime.compiled import Built, Compiled
from uhost.runtime.module import Module
from uhost.toolchain._toolchain import TOOLCHAINS, Toolchain


def build(
    model: str | Path,
    board: str | Board,
    *,
    toolchain: str | None = None,
    context: PassContext | None = None,
) -> Module:
    """Returns the module of `model` for `board`: the whole line up to the executor.

    The C is generated at once; the toolchain runs when a factory first needs the image.
    """
    compiled = compile_model(model, board, context)
    return as_module(compiled, toolchain, context)


def as_module(
    compiled: Compiled, toolchain: str | None = None, context: PassContext | None = None
) -> Module:
    """Returns the module that holds one compiled model."""
    return Module(
        {compiled.lowered.identifier: compiled},
        compile_for=lambda one, other: compile_graph(one.source, other, one.origin, context),
        link=lambda one: link(one, toolchain if one.board.board == compiled.board.board else None),
    )


def load_module(folder: str | Path) -> Module:
    """Returns the module that `uhost build` stored in `folder`; its image is run as it is."""
    stored = build_folder.read(Path(folder), compile_graph)
    board = stored.compiled.board.board
    return Module(
        {stored.compiled.lowered.identifier: stored.compiled},
        compile_for=lambda one, other: compile_graph(one.source, other, one.origin),
        link=lambda one: stored if one.board.board == board else link(one),
    )


def compile_model(
    model: str | Path, board: str | Board, context: PassContext | None = None
) -> Compiled:
    """Returns the C of a model file for a board: load, then everything up to `emit`."""
    path = Path(model)
    found = load_board(board) if isinstance(board, str) else board
    graph = load_model(path)
    return compile_graph(graph, found, (path.name, path.read_bytes()), context)


def compile_graph(
    graph: Graph, board: Board, origin: tuple[str, bytes], context: PassContext | None = None
) -> Compiled:
    """Returns the C of a loaded graph for a board: optimize, select, plan, emit."""
    config = configure(board)
    module = optimize(IRModule({graph.name: graph}, config), context or PassContext())
    lowered = lower(module.graphs[graph.name], config)
    check_fits(lowered.graph, lowered.plan, lowered.constant_bytes(), board)
    artifact = emit(lowered, __version__).with_files(firmware_files(board))
    digest = artifact.digest()
    table = model_table(lowered, digest, board.name).encode()
    return Compiled(
        source=graph,
        lowered=lowered,
        board=board,
        config=config,
        artifact=artifact.with_files({"firmware/model_table.c": table}),
        digest=digest,
        origin=origin,
    )


def configure(board: Board) -> CompilationConfig:
    """Returns the constraints a board puts on a compilation, paired with this machine."""
    ram = next((r for r in board.regions if r.name == board.ram), None)
    pool = Pool(ram.name, ram.size_bytes - board.stack_bytes) if ram else Pool("ram")
    return CompilationConfig(host=load_board("host").target, targets=(board.target,), pools=(pool,))


def lower(graph: Graph, config: CompilationConfig) -> Lowered:
    """Returns the graph with a kernel per operator and a place for every tensor."""
    views = view_operators(graph)
    selections = select(graph, config.target, views)
    scratch = {name: s.call.scratch_bytes for name, s in selections.items()}
    plan = plan_memory(graph, views, scratch, config.pools[0], config.executor.alignment_bytes)
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
        name = f"{compiled.lowered.identifier}-{board}-{chosen.name}-{compiled.digest[:16]}"
        folder = cache_folder() / "images" / name
    compiled.artifact.write(folder)
    try:
        image = chosen.build(compiled.artifact, compiled.board, folder)
    except OutOfMemoryError as error:
        raise _with_peak(error, compiled) from error
    return Built(compiled, image, folder)


def _with_peak(error: OutOfMemoryError, compiled: Compiled) -> OutOfMemoryError:
    lowered = compiled.lowered
    peak = arena_too_large(lowered.graph, lowered.plan, compiled.board, 0).what
    return OutOfMemoryError(
        f"{error.what}\n{peak[peak.index('The arena takes') :]}", error.where, error.fix
    )
