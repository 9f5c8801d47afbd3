"""Reads what `Module.export_library` wrote: `.tar`, `.c`, `.a`, `.so`, or a folder of C."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

import msgspec

from uhost.codegen.artifact import Artifact
from uhost.config.compilation import CompilationConfig
from uhost.errors import ConfigError
from uhost.runtime.export.c_sources import MANIFEST, params_file
from uhost.runtime.export.library_format import (
    DEVICE,
    METADATA,
    NATIVE,
    PARAMETERS,
    SOURCES,
    original,
)
from uhost.runtime.export.objects import MANIFEST_SYMBOL
from uhost.runtime.export.parameters import decode_params
from uhost.runtime.library import ModelFile, Steps, StoredLibrary, native_config
from uhost.runtime.manifest import LibraryManifest, program_of, read_manifest
from uhost.runtime.program import Program
from uhost.toolchain._archive import read_constant, read_members

SUFFIXES = (".tar", ".c", ".a", ".so")


def is_library(path: Path) -> bool:
    """True for what `export_library` writes; false for a folder that `uhost build` made."""
    if not path.is_dir():
        return True
    manifest = path / MANIFEST
    if not manifest.is_file():
        return False
    try:
        plain = msgspec.json.decode(manifest.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(plain, dict) and "kind" in plain


def read_library(path: Path, steps: Steps) -> StoredLibrary:
    """Returns the library at `path`; raises `ConfigError` for a file that is none.

    It runs as it is: nothing of it is compiled again from the model.
    """
    if path.is_dir():
        return _read_c(_read_folder(path), (path / MANIFEST).read_bytes(), str(path), steps)
    if path.suffix not in SUFFIXES:
        raise ConfigError(
            f"'{path.name}' is not a module",
            where=str(path),
            fix=f"give a file that ends in {', '.join(SUFFIXES)}, or a folder",
        )
    content = _read(path)
    if path.suffix == ".tar":
        return _read_tar(content, str(path), steps)
    if path.suffix == ".a":
        return _read_archive(content, str(path), steps)
    if path.suffix == ".so":
        return _read_shared(content, path, steps)
    header = path.with_suffix(".h")
    files = {
        "model.c": content.replace(f'#include "{header.name}"'.encode(), b'#include "model.h"', 1),
        "model.h": _read(header),
    }
    manifest = _read(path.with_name(f"{path.stem}.{MANIFEST}"))
    return _read_c(files, manifest, str(path), steps)


def _read_tar(content: bytes, where: str, steps: Steps) -> StoredLibrary:
    files = tar_members(content, where)
    if METADATA not in files:
        raise ConfigError(f"the archive has no {METADATA}: it is no module", where)
    try:
        metadata = msgspec.json.decode(files[METADATA])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{METADATA} cannot be read: {error}", where) from error
    if not isinstance(metadata, dict) or "uhost" not in metadata:
        raise ConfigError(
            "the archive has the Model Library Format but was not written by uhost",
            where=where,
            fix="build the model with uhost; it does not run modules of TVM",
        )
    manifest = read_manifest(metadata["uhost"], where)
    config = manifest.configuration()
    program = program_of(manifest, manifest.program, config, original(files, DEVICE), where)
    native = program
    if manifest.native is not None:
        carried = original(files, NATIVE)
        native = program_of(manifest, manifest.native, native_config(config), carried, where)
    is_native = program.board.target.kind == config.host.kind or manifest.native is not None
    blobs: dict[tuple[str, str], bytes] = {}
    for one, folder in ((program, PARAMETERS), (native, f"{PARAMETERS}/native")):
        for name in one.names:
            blob = files.get(f"{folder}/{params_file(name)}")
            if blob is not None:
                blobs.setdefault((one.board.board, name), blob)
    params = {
        name: decode_params(files[f"{PARAMETERS}/{name}.params"], where)
        for name in program.names
        if f"{PARAMETERS}/{name}.params" in files
    }
    graphs = {name: files.get(f"{SOURCES}/{name}.graph", b"").decode() for name in program.names}
    return StoredLibrary(
        program,
        config,
        steps,
        native if is_native else None,
        "the archive holds no program for it",
        graphs,
        params,
        tuple(
            ModelFile(name, PurePosixPath(member).name, files[member])
            for name, member in manifest.files.items()
            if member in files
        ),
        blobs,
    )


def _read_c(
    files: Mapping[str, bytes], manifest_text: bytes, where: str, steps: Steps
) -> StoredLibrary:
    manifest = read_manifest(manifest_text, where)
    carried = Artifact({p: c for p, c in files.items() if p.endswith((".c", ".h"))})
    library = _stored(manifest, carried, where, steps)
    program = library.program
    blobs = {
        (program.board.board, name): files[params_file(name)]
        for name in program.names
        if params_file(name) in files
    }
    library = replace(library, blobs=blobs)
    if program.portable and library.stored_native is None:
        # The portable kernels alone: the C of the board is C of any machine.
        return replace(library, stored_native=program)
    return library


def _read_archive(content: bytes, where: str, steps: Steps) -> StoredLibrary:
    members = read_members(content, where)
    texts = {name: read_constant(data, MANIFEST_SYMBOL) for name, data in members.items()}
    text = next((found for found in texts.values() if found), None)
    if text is None:
        raise ConfigError("the archive holds no manifest of uhost", where)
    objects = Artifact(
        {f"obj/{n[:-2]}.c.o": data for n, data in members.items() if texts[n] is None}
    )
    return _stored(read_manifest(text.rstrip(b"\0"), where), objects, where, steps)


def _read_shared(content: bytes, path: Path, steps: Steps) -> StoredLibrary:
    text = read_constant(content, MANIFEST_SYMBOL)
    if text is None:
        raise ConfigError("the library holds no manifest of uhost", str(path))
    library = _stored(read_manifest(text.rstrip(b"\0"), str(path)), Artifact({}), str(path), steps)
    program = replace(library.program, library=path.resolve())
    return replace(library, program=program, stored_native=program)


def _stored(
    manifest: LibraryManifest, carried: Artifact, where: str, steps: Steps
) -> StoredLibrary:
    """Returns the library of one program; for this machine where its board is the host."""
    config: CompilationConfig = manifest.configuration()
    program: Program = program_of(manifest, manifest.program, config, carried, where)
    is_native = program.board.target.kind == config.host.kind
    return StoredLibrary(
        program,
        config,
        steps,
        program if is_native else None,
        f"its code is for {program.board.target.kind}",
    )


def tar_members(content: bytes, where: str) -> dict[str, bytes]:
    """Returns path → content of the files of a tar archive, none of them outside it."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for member in tar:
                stream = tar.extractfile(member) if member.isfile() else None
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts:
                    raise ConfigError(f"the archive holds the path '{member.name}'", where)
                if stream is not None:
                    files[path.as_posix()] = stream.read()
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise ConfigError(
            f"the archive cannot be read: {error}", where, "export the module again"
        ) from error
    return files


def _read_folder(folder: Path) -> dict[str, bytes]:
    return {path.name: _read(path) for path in folder.iterdir() if path.is_file()}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"cannot read '{path}': {error.strerror}", fix="check the path and its permissions"
        ) from error
