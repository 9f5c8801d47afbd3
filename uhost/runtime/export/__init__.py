"""Exporting: a module as files, by suffix."""

from __future__ import annotations

from pathlib import Path

from uhost.errors import ConfigError
from uhost.runtime.export.c_sources import write_c_file, write_c_folder
from uhost.runtime.export.library_format import write_tar
from uhost.runtime.export.objects import write_archive, write_shared_library
from uhost.runtime.library import Library

__all__ = ["export_library"]

_WRITERS = {
    ".tar": write_tar,
    ".c": write_c_file,
    ".a": write_archive,
    ".so": write_shared_library,
    "": write_c_folder,
}


def export_library(library: Library, path: Path) -> tuple[Path, ...]:
    """Writes `library` to `path` in the form its suffix names, and returns the files written.

    An existing folder is a folder whatever its name. Raises `ConfigError` for another suffix.
    """
    suffix = "" if path.is_dir() else path.suffix
    if suffix not in _WRITERS:
        raise ConfigError(
            f"a module is not exported as '{suffix}'",
            where=str(path),
            fix="give a path that ends in .tar, .c, .a or .so, or a folder without suffix",
        )
    return _WRITERS[suffix](library, path)
