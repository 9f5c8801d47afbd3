"""Exports a `.tar` in the Model Library Format, version 7, as microTVM's last release wrote it.

`metadata.json` has a section `uhost` besides: what TVM's fields have no place for, and what
`uhost.load_module` needs. TVM called the target that runs the model the host, so that the
code for the board is below `codegen/host`; that for this machine is below `codegen/native`.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from uhost import __version__
from uhost.codegen.artifact import Artifact, write_file
from uhost.codegen.executable import ArenaTensor, Executable
from uhost.runtime.export.c_sources import c_files, params_files
from uhost.runtime.export.parameters import encode_params
from uhost.runtime.library import Library
from uhost.runtime.manifest import LibraryManifest, describe, library_manifest
from uhost.runtime.program import Program, is_model_file

VERSION = 7
METADATA = "metadata.json"
DEVICE = "codegen/host"
NATIVE = "codegen/native"
PARAMETERS = "parameters"
SOURCES = "src"
RUNTIME = "runtime/"
CONFIG = "executor-config/aot/config.json"

_CPU = 1
"""TVM's number of the device type; every uhost target is one."""

_EXPORT_DATETIME = "1970-01-01 00:00:00Z"
"""Fixed: same module, same bytes."""


def write_tar(library: Library, path: Path) -> tuple[Path, ...]:
    """Writes the library as a Model Library Format archive and returns its path."""
    write_file(path, archive(tar_files(library)))
    return (path,)


def tar_files(library: Library) -> dict[str, bytes]:
    """Returns path → content of everything in the archive."""
    program, native = library.program, library.native
    c_files(library)  # an archive without C could not be built for its board
    files = placed(program.artifact, DEVICE)
    described = describe(program, program.artifact, whole_firmware=True)
    described_native = None
    if native is not program:
        files.update(placed(native.model_files, NATIVE))
        described_native = describe(native, native.model_files, whole_firmware=False)
    members: dict[str, str] = {}
    for model in library.files:
        name = next(m.name for m in program.models if m.title == model.name)
        members[model.name] = f"{SOURCES}/{name}{PurePosixPath(model.file_name).suffix}"
        files[members[model.name]] = model.content
    for name, text in library.graphs.items():
        files[f"{SOURCES}/{name}.graph"] = text.encode()
    for name in program.names:
        files[f"{PARAMETERS}/{name}.params"] = encode_params(library.params.get(name, {}))
    for one, folder in ((program, PARAMETERS), (native, f"{PARAMETERS}/native")):
        for name, blob in params_files(library, one).items():
            files[f"{folder}/{name}"] = blob
    files[CONFIG] = library.config.to_json().encode()
    manifest = library_manifest(
        "tar", library.config, program.board, described, described_native, members
    )
    metadata = _metadata(program, library, manifest)
    text = json.dumps(metadata, indent=2, sort_keys=True) + "\n"
    return {METADATA: text.encode(), **files}


def placed(artifact: Artifact, folder: str) -> dict[str, bytes]:
    """Returns an artifact's files by their places in the archive; `original` is the way back."""
    return {_member(path, folder): content for path, content in artifact.files.items()}


def original(files: Mapping[str, bytes], folder: str) -> Artifact:
    """Returns the artifact whose models' files are below `folder`, the board's with `runtime/`."""
    found: dict[str, bytes] = {}
    for member, content in files.items():
        for kind in ("src", "include"):
            if member.startswith(f"{folder}/{kind}/"):
                found[member.removeprefix(f"{folder}/{kind}/")] = content
        if folder == DEVICE and member.startswith(RUNTIME):
            found[member.removeprefix(RUNTIME)] = content
    return Artifact(found)


def archive(files: Mapping[str, bytes]) -> bytes:
    """Returns a tar archive without dates or owners, in the order of the names."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in _folders(files):
            member = tarfile.TarInfo(path)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(f"./{path}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _folders(files: Mapping[str, bytes]) -> list[str]:
    """Returns the folders of the archive, parents first, as microTVM's begin: with `.`."""
    found = {"."}
    for path in files:
        found.update(f"./{parent}" for parent in PurePosixPath(path).parents if str(parent) != ".")
    return sorted(found)


def _member(path: str, folder: str) -> str:
    if not is_model_file(path):
        return RUNTIME + path
    return f"{folder}/{'include' if path.endswith('.h') else 'src'}/{path}"


def _metadata(program: Program, library: Library, manifest: LibraryManifest) -> dict[str, Any]:
    modules = {}
    for model in program.models:
        modules[model.name] = {
            "model_name": model.name,
            "export_datetime": _EXPORT_DATETIME,
            "memory": {"functions": _functions(model)},
            "target": [str(target) for target in library.config.targets],
            "executors": [library.config.executor.name],
            "style": "full-model",
            "external_dependencies": [
                {
                    "short_name": "uhost_firmware",
                    "url": f"./{RUNTIME.rstrip('/')}",
                    "url_type": "mlf_path",
                    "version_spec": __version__,
                }
            ]
            if program.has_firmware
            else [],
        }
    return {"version": VERSION, "modules": modules, "uhost": json.loads(manifest.encode())}


def _functions(model: Executable) -> dict[str, Any]:
    """Returns `memory.functions`: the whole model, and its operators, which need no more.

    The workspace is the arena, inputs and outputs included.
    """
    main = {
        "device": _CPU,
        "workspace_size_bytes": model.arena_bytes,
        "constants_size_bytes": model.constant_bytes,
        "io_size_bytes": sum(t.size_bytes for t in (*model.inputs, *model.outputs)),
        "inputs": {tensor.name: _tensor(tensor) for tensor in model.inputs},
        "outputs": {tensor.name: _tensor(tensor) for tensor in model.outputs},
    }
    operators = [
        {
            "function_name": operator.name,
            "workspace": [{"device": _CPU, "workspace_size_bytes": 0}],
        }
        for operator in model.operators
    ]
    return {"main": [main], "operator_functions": operators}


def _tensor(tensor: ArenaTensor) -> dict[str, Any]:
    return {"dtype": tensor.dtype, "size": tensor.size_bytes}
