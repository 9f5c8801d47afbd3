"""Exports objects: an archive for the module's board, a shared library for this machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec

from uhost.codegen.artifact import Artifact, write_file
from uhost.codegen.packaging import manifest_source
from uhost.errors import ConfigError
from uhost.resources import cache_folder
from uhost.runtime.export.c_sources import c_files
from uhost.runtime.library import Library, native_config
from uhost.runtime.manifest import describe, library_manifest
from uhost.toolchain._archive import write_members
from uhost.toolchain._library import build_shared_library

MANIFEST_SOURCE = "uhost_manifest.c"
MANIFEST_SYMBOL = "uhost_manifest_"
"""What the symbol of the manifest begins with; the first model's name follows."""


def write_archive(library: Library, path: Path) -> tuple[Path, ...]:
    """Writes an archive of objects for the module's board, and the header beside it.

    The manifest is an object of its own that nothing refers to, so that no image takes it.
    """
    program = library.program
    sources = c_files(library)
    with tempfile.TemporaryDirectory() as folder:
        objects = library.steps.build_objects(program.board, sources, Path(folder))
        members = {f"{_stem(made)}.o": made.read_bytes() for made in objects}
        carried = Artifact({f"obj/{name[:-2]}.c.o": data for name, data in members.items()})
        described = describe(program, carried, whole_firmware=False)
        headers = {p: c.decode() for p, c in sources.files.items() if p.endswith(".h")}
        described = msgspec.structs.replace(described, headers=headers)
        manifest = library_manifest("a", library.config, program.board, described)
        text = Artifact(
            {MANIFEST_SOURCE: manifest_source(program.names[0], manifest.encode()).encode()}
        )
        (made,) = library.steps.build_objects(program.board, text, Path(folder))
        members[f"{_stem(made)}.o"] = made.read_bytes()
    write_file(path, write_members(members))
    header = path.with_suffix(".h")
    write_file(header, sources.files["model.h"])
    return path, header


def write_shared_library(library: Library, path: Path) -> tuple[Path, ...]:
    """Writes a shared library of the program for this machine.

    It takes the place of an older one whole: a process that has that loaded keeps it.
    """
    program = library.native
    sources = program.model_files
    if program.library is not None:
        raise ConfigError(
            "the module was read from a shared library: it holds no C",
            fix="copy that library, or export the module that was built from the model",
        )
    config = library.config
    if program is not library.program:
        config = native_config(config)
    described = describe(program, Artifact({}), whole_firmware=False)
    described = msgspec.structs.replace(described, firmware={})
    manifest = library_manifest("so", config, program.board, described)
    text = manifest_source(program.names[0], manifest.encode())
    made = build_shared_library(
        sources.with_files({MANIFEST_SOURCE: text.encode()}), cache_folder() / "libraries"
    )
    _replace(path, made.read_bytes())
    return (path,)


def _stem(path: Path) -> str:
    """Returns `model` for `obj/model.c.o`."""
    return path.name.removesuffix(".c.o")


def _replace(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as stream:
            stream.write(content)
        os.chmod(stream.name, 0o755)
        os.replace(stream.name, path)
    except OSError as error:
        raise ConfigError(
            f"cannot write '{path}': {error.strerror}",
            fix="choose another place for the output, or free this one",
        ) from error
