"""The folder `uhost build` writes: firmware, generated C, the model, and a manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from uhost import __version__
from uhost.codegen.artifact import write_file
from uhost.config.board import Board, load_board
from uhost.config.compilation import CompilationConfig
from uhost.config.pass_context import PassContext
from uhost.errors import ConfigError
from uhost.frontends._frontend import load_model
from uhost.runtime.compiled import Built, Compiled, CompiledModel, Source
from uhost.toolchain._build import ELF
from uhost.toolchain._elf import embedded_image, host_image
from uhost.toolchain._stack_bound import model_stack_bound

MANIFEST = "manifest.json"
_BOARD_FOLDER = "board"


class ParamsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model's weights apart from its code: `address` in flash, null for RAM."""

    file: str
    placement: str
    address: int | None
    size_bytes: int
    digest: str


class StackRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The most bytes of stack that a model's run function takes; null and why without a bound.

    `deepest` are the functions on the way there.
    """

    bound_bytes: int | None
    deepest: tuple[str, ...] = ()
    why_unbounded: tuple[str, ...] = ()


class PassesRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the passes worked (C0), so that the same program can be made again."""

    opt_level: int
    required_passes: tuple[str, ...]
    disabled_passes: tuple[str, ...]
    options: dict[str, dict[str, Any]]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a build folder holds: `models` is name → file, `digest` that of the generated files.

    `config` is C1, what the build had to satisfy; `passes` how it was made. `params` is
    name → weights, for models whose code does not hold them, `stack` name → what it takes.
    """

    uhost: str
    models: dict[str, str]
    board: str
    toolchain: str
    numerics: str
    digest: str
    arena_bytes: int
    model_flash_bytes: int
    image_flash_bytes: int
    image_ram_bytes: int
    files: list[str]
    config: dict[str, Any]
    passes: PassesRecord
    params: dict[str, ParamsFile] = {}
    stack: dict[str, StackRecord] = {}


def write(built: Built) -> Manifest:
    """Writes the models, the user's board file if there is one, and the manifest.

    They lie beside the image, so that the folder can be moved. Returns the manifest.
    """
    compiled, image, folder = built.compiled, built.image, built.folder
    files = {m.source.graph.name: _stored_name(m) for m in compiled.models}
    for model in compiled.models:
        write_file(folder / files[model.source.graph.name], model.source.content)
    for path, text in board_files(compiled.board):
        write_file(folder / path, text)
    placed = compiled.placed_params()
    for one in placed:
        write_file(folder / one.file_name, one.params.blob)
    manifest = Manifest(
        uhost=__version__,
        models=files,
        board=compiled.board.name,
        toolchain=image.toolchain,
        numerics=compiled.config.numerics,
        digest=compiled.digest,
        arena_bytes=compiled.arena_bytes,
        model_flash_bytes=image.model_flash_bytes,
        image_flash_bytes=image.flash_bytes,
        image_ram_bytes=image.ram_bytes,
        files=sorted(compiled.artifact.files),
        config=msgspec.to_builtins(compiled.config),
        passes=_record(compiled.context),
        params={
            one.name: ParamsFile(
                one.file_name,
                one.placement,
                one.address,
                len(one.params.blob),
                one.params.digest,
            )
            for one in placed
        },
        stack=dict(_stacks(built)),
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    write_file(folder / MANIFEST, text + b"\n")
    return manifest


def _stacks(built: Built) -> Iterator[tuple[str, StackRecord]]:
    for model in built.compiled.models:
        bound = model_stack_bound(built.image, model.lowered.identifier)
        yield model.source.graph.name, StackRecord(bound.size_bytes, bound.deepest, bound.why)


def _record(context: PassContext) -> PassesRecord:
    return PassesRecord(
        context.opt_level,
        context.required_passes,
        context.disabled_passes,
        {name: dict(options) for name, options in context.options.items()},
    )


def _stored_name(model: CompiledModel) -> str:
    """Returns a file name that is unique in the folder: the model's name, the file's suffix."""
    return f"{model.name}{Path(model.source.file_name).suffix}"


def board_files(board: Board) -> Iterator[tuple[str, bytes]]:
    """Yields the user's own board file, and the chip file beside it where it has one."""
    if board.file is None:
        return
    yield f"{_BOARD_FOLDER}/{board.file.name}", board.file.read_bytes()
    chip = board.file.parent / "chips" / f"{board.chip}.yaml"
    if chip.is_file():
        yield f"{_BOARD_FOLDER}/chips/{chip.name}", chip.read_bytes()


def read(
    folder: Path,
    compile_models: Callable[..., Compiled],
    board: str | None = None,
    toolchain: str | None = None,
) -> Built:
    """Returns what `write` stored, after checking that the model still gives its digest.

    That the image carries the digest is checked at the handshake. Raises `ConfigError`
    where the folder is not a build, was made for another board or toolchain, or where its
    model was changed or this uhost makes another program of it.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise ConfigError(
            f"'{folder}' is a folder without {MANIFEST}: not a build",
            fix="give a model file, or a folder that `uhost build` made",
        )
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the manifest cannot be read: {error}", str(path), _REBUILD) from error
    own = next((folder / _BOARD_FOLDER).glob("*.y*ml"), None)
    stored = load_board(str(own) if own else manifest.board)
    for what, differs, asked, found in (
        ("board", board and load_board(board).board != stored.board, board, manifest.board),
        ("toolchain", toolchain != manifest.toolchain, toolchain, manifest.toolchain),
    ):
        if asked is not None and differs:
            raise ConfigError(
                f"the build is for the {what} '{found}', not '{asked}'",
                where=str(path),
                fix=f"leave out --{what}, or build again",
            )
    sources = []
    for name, file_name in manifest.models.items():
        model = folder / file_name
        graph = load_model(model, name)
        sources.append(Source(graph, file_name, model.read_bytes()))
    config = CompilationConfig.from_plain(manifest.config)
    context = PassContext(**msgspec.structs.asdict(manifest.passes))
    compiled = compile_models(sources, stored, config=config, context=context)
    if compiled.digest != manifest.digest:
        raise ConfigError(
            f"the build does not match what uhost {__version__} makes of its model"
            f" (built by uhost {manifest.uhost})",
            where=str(folder),
            fix=_REBUILD,
        )
    read_image = host_image if compiled.board.target.kind == "host" else embedded_image
    return Built(compiled, read_image(folder / ELF, manifest.toolchain), folder)


_REBUILD = "run `uhost build` again"
