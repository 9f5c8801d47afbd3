"""Exports C: a folder that builds by itself, or two files for a project of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.codegen.names import identifier
from uhost.codegen.packaging import cmake_lists
from uhost.errors import ConfigError
from uhost.runtime.library import Library
from uhost.runtime.manifest import describe, library_manifest
from uhost.runtime.program import Program
from uhost.targets._target import TARGETS

MANIFEST = "manifest.json"
CMAKE = "CMakeLists.txt"


def c_files(library: Library) -> Artifact:
    """Returns the C of the module's program; raises `ConfigError` where it holds objects only."""
    files = library.program.model_files
    if any(path.endswith(".o") for path in files.files):
        raise ConfigError(
            "the module was read from an archive of objects: it holds no C",
            fix="export the module that was built from the model",
        )
    return files


def write_c_folder(library: Library, folder: Path) -> tuple[Path, ...]:
    """Writes model.c, model.h, CMakeLists.txt and the manifest, and weights that are apart."""
    program = library.program
    carried = c_files(library)
    manifest = library_manifest(
        "c", library.config, program.board, describe(program, carried, whole_firmware=False)
    )
    files = dict(carried.files)
    files[CMAKE] = cmake_lists(program.names, carried, _flags(program)).encode()
    files[MANIFEST] = manifest.encode()
    files.update(params_files(library, program))
    return written(folder, files)


def write_c_file(library: Library, path: Path) -> tuple[Path, ...]:
    """Writes one C file, its header and its manifest, all named after `path`."""
    program = library.program
    carried = c_files(library)
    if set(carried.files) != {"model.c", "model.h"}:
        raise ConfigError(
            f"the module has more C than one file: {', '.join(carried.files)}",
            where=str(path),
            fix="export it into a folder: give a path without suffix",
        )
    described = describe(program, carried, whole_firmware=False)
    manifest = library_manifest("c", library.config, program.board, described)
    header = path.with_suffix(".h").name
    files = {
        path.name: carried.files["model.c"].replace(
            b'#include "model.h"', f'#include "{header}"'.encode(), 1
        ),
        header: carried.files["model.h"],
        f"{path.stem}.{MANIFEST}": manifest.encode(),
    }
    return written(path.parent, files)


def params_files(library: Library, program: Program) -> dict[str, bytes]:
    """Returns the weights that are apart from the program's code, where the library has them."""
    files: dict[str, bytes] = {}
    for model in program.models:
        blob = library.blob(model.name, program.board) if model.params else None
        if blob is not None:
            files[params_file(model.name)] = blob
    return files


def params_file(name: str) -> str:
    """Returns the name of the file with a model's weights."""
    return f"params_{identifier(name)}.bin"


def written(folder: Path, files: dict[str, bytes]) -> tuple[Path, ...]:
    """Writes files below `folder` and returns their paths."""
    Artifact(files).write(folder)
    return tuple(folder / name for name in files)


def _flags(program: Program) -> Sequence[str]:
    target = program.board.target
    return TARGETS[target.kind].gcc_flags(target)
