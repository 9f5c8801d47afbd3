"""The manifest of an exported library: all that running it takes besides its code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from uhost import __version__
from uhost.codegen.artifact import Artifact
from uhost.codegen.executable import Executable
from uhost.codegen.firmware import firmware_files
from uhost.config.board import Board, load_board
from uhost.config.compilation import CompilationConfig
from uhost.errors import ConfigError
from uhost.resources import cache_folder
from uhost.runtime.build_folder import board_files
from uhost.runtime.compiled import as_built
from uhost.runtime.program import Program, is_model_file

FORMAT = 1
"""Raised when a reader of the old format would get a new manifest wrong."""

LICENCES = {"model": "0BSD", "runtime": "Apache-2.0"}
"""The generated code of the models, and the firmware around it."""


class ProgramManifest(msgspec.Struct, frozen=True):
    """One program: `digest` is what its firmware says, `files_digest` that of what is carried.

    `headers` are those of objects that come without their C. `firmware` holds the files of
    the firmware that are this program's own; the others uhost has.
    """

    board: str
    digest: str
    files_digest: str
    portable: bool
    models: tuple[Executable, ...]
    headers: dict[str, str] = {}
    firmware: dict[str, str] = {}


class LibraryManifest(msgspec.Struct, frozen=True):
    """`kind` is the suffix without its dot: tar, c, a or so.

    `files` is model → the member that holds the model file; `board_files` the user's own
    board file and its chip's, by path.
    """

    format: int
    uhost: str
    kind: str
    licence: dict[str, str]
    config: dict[str, Any]
    program: ProgramManifest
    native: ProgramManifest | None = None
    files: dict[str, str] = {}
    board_files: dict[str, str] = {}

    def encode(self) -> bytes:
        """Returns the manifest as JSON: plain ASCII, same manifest, same bytes."""
        return json.dumps(msgspec.to_builtins(self), indent=1).encode() + b"\n"

    def configuration(self) -> CompilationConfig:
        """Returns the constraints the library meets."""
        return CompilationConfig.from_plain(self.config)


def describe(program: Program, carried: Artifact, whole_firmware: bool) -> ProgramManifest:
    """Returns what is said of a program of which the files `carried` are stored.

    Without `whole_firmware`, the manifest holds what uhost could not write again.
    """
    known = firmware_files(program.board)
    own = {
        path: content.decode()
        for path, content in program.artifact.files.items()
        if not is_model_file(path) and known.get(path) != content
    }
    return ProgramManifest(
        program.board.name,
        program.digest,
        carried.digest(),
        program.portable,
        program.models,
        firmware={} if whole_firmware else own,
    )


def library_manifest(
    kind: str,
    config: CompilationConfig,
    board: Board,
    program: ProgramManifest,
    native: ProgramManifest | None = None,
    files: Mapping[str, str] | None = None,
) -> LibraryManifest:
    """Returns the manifest of a library that this version of uhost writes."""
    return LibraryManifest(
        format=FORMAT,
        uhost=__version__,
        kind=kind,
        licence=LICENCES,
        config=json.loads(config.to_json()),
        program=program,
        native=native,
        files=dict(files or {}),
        board_files={path: content.decode() for path, content in board_files(board)},
    )


def read_manifest(content: bytes | object, where: str) -> LibraryManifest:
    """Returns the manifest in JSON or decoded JSON; raises `ConfigError` for what is none."""
    try:
        plain = msgspec.json.decode(content) if isinstance(content, bytes) else content
        number = plain.get("format") if isinstance(plain, dict) else None
        if isinstance(number, int) and number != FORMAT:
            raise ConfigError(
                f"the library has format {number}, this uhost reads format {FORMAT}",
                where=where,
                fix="use the version of uhost that wrote it, or export it again",
            )
        return msgspec.convert(plain, type=LibraryManifest)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the manifest of the library cannot be read: {error}",
            where=where,
            fix="export the library again",
        ) from error


def board_of(manifest: LibraryManifest, described: ProgramManifest) -> Board:
    """Returns the board a program is for: one of uhost's own, or the one the library carries."""
    own = [path for path in manifest.board_files if path.count("/") == 1]
    if described.board == "host" or not own:
        return load_board(described.board)
    stored = Artifact({path: text.encode() for path, text in manifest.board_files.items()})
    folder = cache_folder() / "boards" / stored.digest()[:16]
    stored.write(folder)
    return load_board(str(folder / own[0]))


def program_of(
    manifest: LibraryManifest,
    described: ProgramManifest,
    config: CompilationConfig,
    carried: Artifact,
    where: str,
) -> Program:
    """Returns the program whose files are `carried`, with the firmware around it.

    Raises `ConfigError` where a file is missing or was changed after it was written.
    """
    if carried.digest() != described.files_digest:
        raise ConfigError(
            "the files of the library are not those its manifest was written for",
            where=where,
            fix="export the library again; to change the C, add it to your own application",
        )
    board = as_built(board_of(manifest, described), config)
    files = {path: text.encode() for path, text in described.headers.items()}
    files.update(carried.files)
    if described.firmware and manifest.uhost == __version__:
        files.update(firmware_files(board))
        files.update({path: text.encode() for path, text in described.firmware.items()})
    return Program(described.models, board, Artifact(files), described.digest, described.portable)
