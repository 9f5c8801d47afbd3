"""Artifact: the generated files, as bytes in memory. Same input, same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from uhost.errors import ConfigError


@dataclass(frozen=True, slots=True, eq=False)
class Artifact:
    """Relative path → content. Holds no dates and no absolute paths."""

    files: Mapping[str, bytes]

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", MappingProxyType(dict(sorted(self.files.items()))))

    def digest(self) -> str:
        """Returns the SHA-256 over all paths and contents, in hexadecimal."""
        whole = hashlib.sha256()
        for path, content in self.files.items():
            whole.update(f"{path}\0{len(content)}\0".encode())
            whole.update(content)
        return whole.hexdigest()

    def with_files(self, files: Mapping[str, bytes]) -> Artifact:
        """Returns an artifact with `files` added or replaced."""
        return Artifact({**self.files, **files})

    def write(self, folder: Path) -> None:
        """Writes every file below `folder`, leaving files that are already the same untouched.

        Raises `ConfigError` where the folder cannot be written.
        """
        for path, content in self.files.items():
            write_file(folder / path, content)


def write_file(path: Path, content: bytes) -> None:
    """Writes a file and the folders above it, unless it is the same already.

    Raises `ConfigError` with the path and the system's reason.
    """
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise ConfigError(
            f"cannot write '{path}': {error.strerror}",
            fix="choose another place for the output, or free this one",
        ) from error
