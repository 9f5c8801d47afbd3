"""The folder `uhost build` writes: firmware, generated C, the model, and a manifest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from uhost import __version__
from uhost.config.board import Board, load_board
from uhost.errors import ConfigError
from uhost.frontends._frontend import load_model
from uhost.ir.graph import Graph
from uhost.runtime.compiled import Built, Compiled
from uhost.toolchain._build import ELF
from uhost.toolchain._elf import embedded_image, host_image

MANIFEST = "manifest.json"


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a build folder holds. `digest` identifies the generated files."""

    uhost: str
    model: str
    name: str
    board: str
    toolchain: str
    numerics: str
    digest: str
    arena_bytes: int
    model_flash_bytes: int
    image_flash_bytes: int
    image_ram_bytes: int
    files: list[str]


def write(built: Built) -> Manifest:
    """Writes the model and the manifest beside the image; returns the manifest."""
    compiled, image, folder = built.compiled, built.image, built.folder
    file_name, content = compiled.origin
    (folder / file_name).write_bytes(content)
    manifest = Manifest(
        uhost=__version__,
        model=file_name,
        name=compiled.lowered.identifier,
        board=compiled.board.name,
        toolchain=image.toolchain,
        numerics=compiled.config.numerics,
        digest=compiled.digest,
        arena_bytes=compiled.lowered.plan.arena_bytes,
        model_flash_bytes=image.model_flash_bytes,
        image_flash_bytes=image.flash_bytes,
        image_ram_bytes=image.ram_bytes,
        files=sorted(compiled.artifact.files),
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (folder / MANIFEST).write_bytes(text + b"\n")
    return manifest


def read(
    folder: Path,
    compile_graph: Callable[[Graph, Board, tuple[str, bytes]], Compiled],
    board: str | None = None,
    toolchain: str | None = None,
) -> Built:
    """Returns what `write` stored, after checking that the image is of this model.

    Raises `ConfigError` where the folder is not a build, was made for another board or by
    another version of uhost, or where its files were changed.
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
    for asked, stored, what in (
        (board, manifest.board, "board"),
        (toolchain, manifest.toolchain, "toolchain"),
    ):
        if asked is not None and asked != stored:
            raise ConfigError(
                f"the build is for the {what} '{stored}', not '{asked}'",
                where=str(path),
                fix=f"leave out --{what}, or build again",
            )
    model = folder / manifest.model
    graph = load_model(model)
    compiled = compile_graph(
        graph, load_board(manifest.board), (manifest.model, model.read_bytes())
    )
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
