"""Builds a shared library for this machine: what runs in this process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.errors import BuildError, ConfigError
from uhost.toolchain import _build, host_cc
from uhost.toolchain.zig import cache_environment

SHARED_LIBRARY = "model.so"


def shared_command(compiler: Sequence[str], objects: Sequence[str]) -> tuple[str, ...]:
    """Returns the command that links `objects` to a shared library."""
    return (*compiler, "-shared", *objects, "-lm", "-o", SHARED_LIBRARY)


def build_shared_library(artifact: Artifact, cache: Path) -> Path:
    """Returns the shared library of the artifact's C and objects, built with the host's compiler.

    It lies in `cache` under the digest of what it was made of, and is made once. A
    library is put in its place whole: one that a process has loaded is never written to.
    """
    located = host_cc.TOOLCHAIN.locate()
    includes = _build.include_flags(artifact)
    commands = {
        source: (
            *host_cc.compile_command(located.argv, source, includes),
            *host_cc.LIBRARY,
        )
        for source in _build.sources_of(artifact)
    }
    objects = [_build.object_of(source) for source in commands]
    objects += [path for path in artifact.files if path.endswith(".o")]
    link = shared_command(located.argv, objects)
    whole = hashlib.sha256(f"{artifact.digest()}\0{located.version}\0{commands}\0{link}".encode())
    path = cache / whole.hexdigest()[:32] / SHARED_LIBRARY
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="build-", dir=path.parent))
    except OSError as error:
        raise ConfigError(
            f"cannot write '{path.parent}': {error.strerror}",
            fix="set UHOST_CACHE to a folder that can be written",
        ) from error
    try:
        artifact.write(folder)
        environment = cache_environment(folder) if host_cc.is_zig(located.argv) else None
        for source, command in commands.items():
            (folder / _build.object_of(source)).parent.mkdir(parents=True, exist_ok=True)
            run_tool(folder, command, environment, f"the compiler refused {source}")
        run_tool(folder, link, environment, "the linker failed")
        os.replace(folder / SHARED_LIBRARY, path)
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
    return path


def run_tool(
    folder: Path, command: Sequence[str], environment: Mapping[str, str] | None, failure: str
) -> None:
    """Runs a compiler or linker in `folder`; raises `BuildError` with its first messages."""
    result = _build.run(folder, command, environment)
    if result.returncode:
        raise BuildError(
            f"{failure}: {_build.excerpt(result.stderr)}",
            where=str(folder),
            fix="report generated code that does not compile; it is a bug in uhost",
        )
