"""Compiles and links an artifact: what every toolchain shares.

A toolchain gives pure functions that return the argument vectors; this module writes
the sources, runs the compiler for what changed, and turns its complaints into errors.
All paths in the vectors are relative to the build folder, where the programs run.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from uhost.codegen.artifact import Artifact, write_file
from uhost.config.board import Board
from uhost.errors import BuildError, ConfigError, OutOfMemoryError, ToolNotFoundError

ELF = "firmware.elf"
LINKER_SCRIPT = "firmware/memory.ld"
TIMEOUT_S = 600

# A float that becomes a double by accident calls the soft-float library on most boards.
WARNINGS = ("-Wall", "-Wextra", "-Wdouble-promotion", "-Werror")
# Floats are rounded after every operation, as the reference does: no contraction to FMA.
CODE = ("-std=c11", "-O2", "-g", "-ffp-contract=off")
# Debug sections hold the build folder's path; without them, same input gives same bytes.
LIBRARY = ("-g0",)
SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fno-common")

_JOBS = 2
_SHOWN_LINES = 12
_COMPLAINT = re.compile(r"error: (?!ld returned)|undefined reference|multiple definition")
_OVERFLOWS = (
    re.compile(r"region `(?P<region>\w+)' overflowed by (?P<bytes>\d+) bytes"),
    re.compile(r"in region '(?P<region>\w+)': overflowed by (?P<bytes>\d+) bytes"),
)


def object_of(source: str) -> str:
    """Returns the path of a source's object: `model.c` gives `obj/model.c.o`."""
    return f"obj/{source}.o"


def include_flags(artifact: Artifact) -> tuple[str, ...]:
    """Returns a `-I` for every folder of the artifact that holds a header."""
    headers = (PurePosixPath(path) for path in artifact.files if path.endswith(".h"))
    return tuple(f"-I{folder}" for folder in sorted({str(header.parent) for header in headers}))


def sources_of(artifact: Artifact) -> tuple[str, ...]:
    """Returns the C sources of the artifact, sorted."""
    return tuple(path for path in artifact.files if path.endswith(".c"))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Makes the build folder and keeps other processes from building in it; waits for them.

    Raises `ConfigError` where the folder cannot be written.
    """
    path = folder / "obj" / "lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("ab")
    except OSError as error:
        raise ConfigError(
            f"cannot write '{path}': {error.strerror}",
            fix="choose another place for the output, or free this one",
        ) from error
    with stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield  # closing the file frees the lock, and so does a process that dies


def build_elf(
    artifact: Artifact,
    board: Board,
    folder: Path,
    compile_command: Callable[[str], Sequence[str]],
    link_command: Callable[[Sequence[str]], Sequence[str]],
    version: str,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Returns the path of the linked program, built in `folder`.

    `environment` adds variables to those of this process. An object is compiled again when
    its command, the compiler's version, its source or any header changed; a program that is
    current is not touched, for another process may run it. Raises `BuildError` with the first
    messages of the compiler or linker, `OutOfMemoryError` when a memory region overflows.
    """
    objects = build_objects(artifact, folder, compile_command, version, environment)
    elf = folder / ELF
    command = tuple(link_command(objects))
    commands = (*map(compile_command, sources_of(artifact)), command, (version, artifact.digest()))
    inputs = hashlib.sha256(
        "\0".join(word for one in commands for word in one).encode()
    ).hexdigest()
    stamp_path = folder / "obj" / "link.stamp"
    if elf.is_file() and stamp_path.is_file() and stamp_path.read_text() == _linked(inputs, elf):
        return elf
    elf.unlink(missing_ok=True)
    result = run(folder, command, environment)
    if result.returncode:
        _raise_overflow(result.stderr, board)
        raise BuildError(
            f"the linker failed: {excerpt(result.stderr)}",
            where=str(folder),
            fix="read the messages; for a missing symbol, check that its source is there",
        )
    write_file(stamp_path, _linked(inputs, elf).encode())
    return elf


def _linked(inputs: str, elf: Path) -> str:
    """Returns what the stamp of a program says: what it was linked of, and what it is."""
    return f"{inputs} {hashlib.sha256(elf.read_bytes()).hexdigest()}"


def build_objects(
    artifact: Artifact,
    folder: Path,
    compile_command: Callable[[str], Sequence[str]],
    version: str,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Returns the paths in `folder` of the objects of an artifact's sources, compiled there.

    Objects that the artifact holds already follow as they are. Raises `BuildError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    artifact.write(folder)
    headers = hashlib.sha256(version.encode())
    for path, content in artifact.files.items():
        if path.endswith(".h"):
            headers.update(f"{path}\0{len(content)}\0".encode() + content)
    commands = {source: tuple(compile_command(source)) for source in sources_of(artifact)}
    with ThreadPoolExecutor(max_workers=_JOBS) as jobs:
        pending = [
            jobs.submit(_compile, folder, source, command, headers.digest(), environment)
            for source, command in commands.items()
        ]
    for job in pending:
        job.result()
    made = (path for path in artifact.files if path.endswith(".o"))
    return (*(object_of(source) for source in commands), *made)


def _compile(
    folder: Path,
    source: str,
    command: Sequence[str],
    headers: bytes,
    environment: Mapping[str, str] | None,
) -> None:
    """Compiles one source unless its stamp says that the object is current.

    What names the build folder is no part of the stamp: the object does not depend on it.
    """
    object_path = folder / object_of(source)
    stamp_path = object_path.with_name(object_path.name + ".stamp")
    whole = hashlib.sha256("\0".join(command).encode() + headers)
    whole.update((folder / source).read_bytes())
    stamp = whole.hexdigest()
    if object_path.is_file() and stamp_path.is_file() and stamp_path.read_text() == stamp:
        return
    object_path.parent.mkdir(parents=True, exist_ok=True)
    stamp_path.unlink(missing_ok=True)
    here = str(folder.resolve())
    # Compilers note $PWD in debug information; one that is a link would escape the mapping.
    result = run(
        folder, (*command, f"-ffile-prefix-map={here}=."), {**(environment or {}), "PWD": here}
    )
    if result.returncode:
        raise BuildError(
            f"the compiler refused {source}: {excerpt(result.stderr)}",
            where=str(folder / source),
            fix="report generated code that does not compile; it is a bug in uhost",
        )
    stamp_path.write_text(stamp)


def run(
    folder: Path, command: Sequence[str], environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    """Runs a compiler or linker in `folder` and returns how it ended.

    Raises `BuildError` for one that does not end, `ToolNotFoundError` for one that does
    not start.
    """
    try:
        return subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            env={**os.environ, **environment} if environment else None,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(
            f"'{command[0]}' did not end within {TIMEOUT_S} s",
            where=" ".join(command),
            fix="run the command by hand in the build folder",
        ) from None
    except OSError as cause:
        raise ToolNotFoundError(
            f"'{command[0]}' does not run: {cause}", where=command[0], fix="run `uhost doctor`"
        ) from None


def excerpt(messages: str) -> str:
    """Returns the first lines of `messages` from the first that says what is wrong."""
    lines = [line for line in messages.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if _COMPLAINT.search(line)), 0)
    shown = lines[first : first + _SHOWN_LINES]
    left = len(lines) - first - len(shown)
    if left > 0:
        shown.append(f"({left} more lines)")
    return "\n".join(shown) or "it said nothing"


def _raise_overflow(messages: str, board: Board) -> None:
    """Raises `OutOfMemoryError` when the linker says that a region overflowed."""
    missing: dict[str, int] = {}
    for pattern in _OVERFLOWS:
        for match in pattern.finditer(messages):
            region = match["region"]
            missing[region] = max(missing.get(region, 0), int(match["bytes"]))
    if not missing:
        return
    region, size = max(missing.items(), key=lambda item: item[1])
    names = {"flash": board.flash, "ram": board.ram}
    real = board.region(names.get(region, region))
    raise OutOfMemoryError(
        f"the image does not fit the region '{real.name}' ({real.size_bytes} bytes at "
        f"0x{real.start:08x}): {size} bytes are missing",
        where=f"board {board.name}",
        fix="use a smaller model, or a board with more memory",
    )
