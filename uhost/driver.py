"""The straight line, from a model file to a running executor. Read this first.

    load     → optimize → choose      → plan       → emit     → build → start     → run
    IRModule   IRModule   KernelCalls   MemoryPlan   Artifact   Image   Transport   outputs

Everything up to `emit` is a function of frozen values. Only the toolchain, the runners
and the transports touch the world.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from uhost import __version__
from uhost.codegen.artifact import Artifact
from uhost.codegen.emit import emit, model_table
from uhost.codegen.firmware import firmware_files
from uhost.codegen.lower import lower_module
from uhost.codegen.lowered import Lowered, arena_bytes, constant_bytes
from uhost.codegen.names import identifier
from uhost.codegen.placement import params_source, place_params
from uhost.codegen.remedies import with_remedies
from uhost.codegen.renode import renode_files
from uhost.config.board import Board, load_board
from uhost.config.compilation import CompilationConfig, KernelChoice
from uhost.config.pass_context import PassContext
from uhost.config.resolve import preset
from uhost.errors import ConfigError, OutOfMemoryError, ToolNotFoundError
from uhost.frontends._frontend import load_content, load_model, read_model, shape_inputs
from uhost.ir.graph import Graph
from uhost.ir.module import IRModule
from uhost.kernels._partition import forced_kernels
from uhost.passes._pipeline import optimize
from uhost.planner.fit import check_fits, largest_weights, peak
from uhost.planner.pools import check_room
from uhost.resources import cache_folder
from uhost.runtime import build_folder
from uhost.runtime.compiled import Built, Compiled, CompiledModel, Source, as_built
from uhost.runtime.library import CompiledLibrary, ModelFile, Steps
from uhost.runtime.loading import is_library, read_library
from uhost.runtime.module import Module
from uhost.runtime.program import Program, check_names
from uhost.toolchain._build import locked
from uhost.toolchain._programs import MisdirectedVariableError
from uhost.toolchain._toolchain import TOOLCHAINS, Image, Toolchain

Models = str | Path | Sequence[str | Path] | Mapping[str, str | Path]
"""One model file, several, or name → file."""

_GIVE_MODELS = "give the path of a model file, a list of paths, or a dict of name to path"


def build(
    models: Models,
    board: str | Board,
    *,
    toolchain: str | None = None,
    config: CompilationConfig | None = None,
    context: PassContext | None = None,
) -> Module:
    """Returns the module of `models` for `board`: the whole line up to the executor.

    `config` are constraints on the result, by default those of the board.

    The C is generated at once; the toolchain runs when a factory first needs the image.
    """
    compiled = compile_models(load(models), board, config=config, context=context)
    return as_module(compiled, toolchain, context)


def as_module(
    compiled: Compiled, toolchain: str | None = None, context: PassContext | None = None
) -> Module:
    """Returns the module that holds compiled models."""
    return Module(CompiledLibrary(compiled, steps(compiled.board.board, toolchain, context)))


def load_module(path: str | Path) -> Module:
    """Returns the module at `path`: what `export_library` wrote, or a folder of `uhost build`.

    The image in such a folder is run as it is.
    """
    if is_library(Path(path)):
        return Module(read_library(Path(path), steps()))
    stored = build_folder.read(Path(path), compile_models)
    return Module(CompiledLibrary(stored.compiled, steps(), stored.image))


def is_stored(path: Path) -> bool:
    """True for what holds models that are compiled already: a build folder, a `.tar` library."""
    return path.is_dir() or path.suffix == ".tar"


def read_stored(path: Path, board: str | None = None, toolchain: str | None = None) -> Built:
    """Returns the build in a folder that `uhost build` wrote, or that of a `.tar` library.

    Raises `ConfigError` where it was made for another board or toolchain, or where this
    uhost makes another program of its model.
    """
    if path.is_dir():
        return build_folder.read(path, compile_models, board, toolchain)
    compiled = _read_archive(path, board)
    return link(compiled, toolchain)


def compiled_in(path: Path, board: str | None = None) -> Compiled:
    """Returns the models of what `is_stored`, without an image; raises as `read_stored` does."""
    return read_stored(path, board).compiled if path.is_dir() else _read_archive(path, board)


def _read_archive(path: Path, board: str | None) -> Compiled:
    library = read_library(path, steps())
    stored = library.program.board
    if board is not None and load_board(board).board != stored.board:
        raise ConfigError(
            f"the library is for the board '{stored.name}', not '{board}'",
            where=str(path),
            fix="leave out --board, or export a library for that board",
        )
    if not library.files:
        raise ConfigError(
            "the library holds no model file, of which a reference could be computed",
            where=str(path),
            fix="export the module before remove_params, or run it with uhost.load_module",
        )
    compiled = compile_models(load_files(library.files), stored, config=library.config)
    if compiled.digest != library.program.digest:
        raise ConfigError(
            f"the library does not match what uhost {__version__} makes of its models",
            where=str(path),
            fix="export it again by this uhost, with the passes that run by default",
        )
    return compiled


def steps(
    board: str = "", toolchain: str | None = None, context: PassContext | None = None
) -> Steps:
    """Returns what a module does later: compile for this machine, link, build objects.

    `toolchain` is used for `board`; for others, the first that is installed.
    """

    def chosen(one: Board) -> Toolchain:
        return choose_toolchain(one, toolchain if one.board == board else None)

    return Steps(
        load=load_files,
        compile=lambda sources, one, config: compile_models(
            sources, one, config=config, context=context
        ),
        link=lambda program: link_program(program, chosen(program.board)),
        build_objects=lambda one, artifact, folder: chosen(one).build_objects(
            artifact, one, folder
        ),
    )


def load(
    models: Models, input_shapes: Mapping[str, Sequence[int]] | None = None
) -> tuple[Source, ...]:
    """Returns the models of files, each under its file's stem or the name it is given.

    `input_shapes` is INPUT or MODEL.INPUT → the shape of an input of which the file leaves
    dimensions open. Raises `ConfigError` for no models, for two whose names give one C
    identifier, and for a shape that is none of an input.
    """
    named = _named(models)
    shapes = {key: tuple(shape) for key, shape in (input_shapes or {}).items()}
    files = _shaped(named, shapes)
    return _distinct(
        (Source(load_content(content, path, name), path.name, content), str(path))
        for (name, path), content in zip(named, files, strict=True)
    )


def input_shapes_of(
    models: Models, shapes: Mapping[str, Sequence[int]]
) -> dict[str, dict[str, Sequence[int]]]:
    """Returns model → those of `shapes` that are of its inputs; raises as `load` does."""
    named = _named(models)
    found: dict[str, dict[str, Sequence[int]]] = {}
    had: dict[str, Iterable[str]] = {}
    for name, path in named:
        _, used, had[name] = shape_inputs(path, name, {k: tuple(v) for k, v in shapes.items()})
        found[name] = {key: shapes[key] for key in shapes if key in used}
    _refuse_unknown(set(shapes).difference(*found.values()), had)
    return found


def _shaped(
    named: Sequence[tuple[str, Path]], shapes: Mapping[str, tuple[int, ...]]
) -> list[bytes]:
    """Returns the bytes of model files, their inputs of the shapes that are given."""
    if not shapes:
        return [read_model(path) for _, path in named]
    made = [shape_inputs(path, name, shapes) for name, path in named]
    unknown = set(shapes).difference(*(used for _, used, _ in made))
    _refuse_unknown(
        unknown, {name: had for (name, _), (_, _, had) in zip(named, made, strict=True)}
    )
    return [content for content, _, _ in made]


def _refuse_unknown(keys: set[str], inputs: Mapping[str, Iterable[str]]) -> None:
    """Raises `ConfigError` for shapes of what is no input of any model."""
    if keys:
        known = "; ".join(f"{name}: {', '.join(had)}" for name, had in inputs.items())
        raise ConfigError(
            f"there is no input '{min(keys)}' to give a shape",
            where="input shapes",
            fix=f"inputs are named INPUT or MODEL.INPUT; of {known}",
        )


def _named(models: Models) -> list[tuple[str, Path]]:
    named: list[tuple[str, Path]]
    if isinstance(models, Mapping):
        named = [(name, _path(path)) for name, path in models.items()]
    elif isinstance(models, Iterable) and not isinstance(models, str):
        named = [(_path(path).stem, _path(path)) for path in models]
    else:
        named = [(_path(models).stem, _path(models))]
    if not named:
        raise ConfigError("no model given", where="models", fix=_GIVE_MODELS)
    return named


def _path(model: object) -> Path:
    if isinstance(model, str | Path):
        return Path(model)
    raise ConfigError(
        f"a model is the path of its file, not {type(model).__name__}",
        where="models",
        fix=_GIVE_MODELS,
    )


def load_files(files: Sequence[ModelFile]) -> tuple[Source, ...]:
    """Returns the models of files in memory, each under the name it has."""
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for number, file in enumerate(files):
            path = Path(folder) / f"{number}{Path(file.file_name).suffix}"
            path.write_bytes(file.content)
            source = Source(load_model(path, file.name), file.file_name, file.content)
            sources.append((source, file.file_name))
    return _distinct(sources)


def _distinct(sources: Iterable[tuple[Source, str]]) -> tuple[Source, ...]:
    """Returns the sources; raises `ConfigError` for names that are one C identifier."""
    found: dict[str, Source] = {}
    for source, path in sources:
        key = identifier(source.graph.name)
        if key in found:
            raise ConfigError(
                f"two models have the name '{key}'",
                where=f"{found[key].file_name} and {path}",
                fix="give one another name: name=path",
            )
        found[key] = source
    check_names(tuple(found))
    return tuple(found.values())


def compile_models(
    sources: Sequence[Source],
    board: str | Board,
    *,
    config: CompilationConfig | None = None,
    context: PassContext | None = None,
) -> Compiled:
    """Returns the C of loaded models for a board: optimize, choose, plan, emit."""
    found = load_board(board) if isinstance(board, str) else board
    if not isinstance(found, Board):
        raise ConfigError(
            f"a board is its name or a Board, not {type(board).__name__}",
            where="board",
            fix="give a name that `uhost boards` lists",
        )
    config = config or configure(found)
    how = replace(context or PassContext(), instruments=())
    lowered = lower_models([source.graph for source in sources], config, context)
    models = tuple(CompiledModel(*pair) for pair in zip(sources, lowered, strict=True))
    placed = place_params(lowered, config.executor, found)
    in_ram = {one.name: len(one.params.blob) for one in placed if one.placement == "ram"}
    flash_bytes = 0 if in_ram else constant_bytes(lowered)
    try:
        for one in lowered:
            ram_bytes = in_ram.get(one.identifier, 0)
            weights = 0 if ram_bytes else one.constant_bytes()
            check_fits(one.graph, one.plan, weights, found, ram_bytes)
        check_pools(config, arena_bytes(lowered, config.executor), flash_bytes, found)
    except OutOfMemoryError as error:
        raise with_remedies(error, lowered, config) from error
    artifact = emit(lowered, config, __version__)
    if not config.runtime.system_lib:
        return Compiled(models, found, config, artifact, artifact.digest(), how)
    arena = lowered[0].plan.pool if lowered else found.ram
    artifact = artifact.with_files(firmware_files(as_built(found, config), arena, placed))
    digest = artifact.digest()
    table = model_table(lowered, config.executor, digest, found, arena).encode()
    files = {
        "firmware/model_table.c": table,
        **params_source(placed),
        **renode_files(found, digest, [one.identifier for one in lowered]),
    }
    return Compiled(models, found, config, artifact.with_files(files), digest, how)


def configure(board: Board) -> CompilationConfig:
    """Returns the constraints a board puts on a compilation, paired with this machine."""
    return preset(board)


def check_pools(
    config: CompilationConfig, arena_bytes: int, constant_bytes: int, board: Board
) -> None:
    """Raises `OutOfMemoryError` where no pool holds the arena, or none the weights."""
    check_room("the arena does", config.usable_workspace_pools(), arena_bytes, board.name)
    if config.executor.link_params:
        check_room("the weights do", config.usable_constant_pools(), constant_bytes, board.name)


def lower_models(
    graphs: Sequence[Graph], config: CompilationConfig, context: PassContext | None = None
) -> list[Lowered]:
    """Returns loaded graphs ready to be printed: optimize, choose, plan."""
    module = optimize(IRModule({g.name: g for g in graphs}, config), context or PassContext())
    made = [module.graphs[graph.name] for graph in graphs]
    return lower_module(made, config, forced_kernels(config.kernels, made))


def lower(graph: Graph, config: CompilationConfig) -> Lowered:
    """Returns one graph, as it is, with a kernel per operator and a place for every tensor."""
    [lowered] = lower_module([graph], config, {})
    return lowered


def choices_by_model(
    graphs: Sequence[Graph], config: CompilationConfig, context: PassContext
) -> dict[str, tuple[KernelChoice, ...]]:
    """Returns graph name → the kernels that `config` forces on it, to compile it alone.

    Raises `ConfigError` with all names that are an operator of none of the graphs.
    """
    module = optimize(IRModule({g.name: g for g in graphs}, config), context)
    forced = forced_kernels(config.kernels, list(module.graphs.values()))
    return {
        name: tuple(
            KernelChoice(f"{name}.{operator}", library) for operator, library in own.items()
        )
        for name, own in forced.items()
    }


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
    if not compiled.config.runtime.system_lib:
        raise ConfigError(
            "there is no image to link: the models are for an application of your own",
            where="runtime crt, system_lib: false",
            fix="use `uhost compile`, or leave system_lib on",
        )
    program = compiled.program()
    try:
        image = link_program(program, choose_toolchain(program.board, toolchain), folder)
    except OutOfMemoryError as error:
        raise _with_peak(error, compiled) from error
    limit_bytes = compiled.config.flash_limit_bytes
    if limit_bytes is not None and image.model_flash_bytes > limit_bytes:
        raise OutOfMemoryError(
            f"the flash limit of {limit_bytes:,} B is not met: code and constants take "
            f"{image.model_flash_bytes:,} B, {image.model_flash_bytes - limit_bytes:,} B too much",
            where=f"{', '.join(compiled.names)}, built with {image.toolchain}",
            fix="give a lower limit, to leave out more, or a higher one, to allow this; kernels "
            "state the bytes that GCC makes of them",
        )
    return Built(compiled, image, image.elf.parent)


def link_program(program: Program, toolchain: Toolchain, folder: Path | None = None) -> Image:
    """Returns the image of a program, built in `folder` (default: a cache by digest).

    Processes that build in the same folder take turns.
    """
    board = program.board
    if folder is None:
        names = "-".join(program.names)[:60]
        digest = program.artifact.digest()[:16]
        text = f"{names}-{board.name}-{board.target.cpu}-{toolchain.name}-{digest}"
        folder = cache_folder() / "images" / re.sub(r"[^\w-]+", "_", text)
    with locked(folder):
        program.artifact.write(folder)
        return toolchain.build(program.artifact, board, folder)


def _with_peak(error: OutOfMemoryError, compiled: Compiled) -> OutOfMemoryError:
    """Returns the linker's complaint with what takes most of the region that is too small."""
    board = compiled.board
    full = next((r for r in board.regions if f"the region '{r.name}'" in error.what), None)
    if full is not None and (full.name == board.flash or full.kind == "flash"):
        takers = largest_weights(m.lowered.graph for m in compiled.models)
    else:
        largest = max((m.lowered for m in compiled.models), key=lambda one: one.plan.arena_bytes)
        takers = peak(largest.graph, largest.plan, board)
    return OutOfMemoryError(f"{error.what}\n{takers}", error.where, error.fix)
