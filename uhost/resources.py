"""Finds the data folders (`templates`, `boards`, `firmware`) in a wheel or a checkout.

A wheel carries them in `uhost/_data`; an editable install and a checkout have
them beside the package.
"""

from __future__ import annotations

import os
from pathlib import Path

from uhost.errors import InternalError

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Returns the data folder `name` (`templates`, `boards` or `firmware`)."""
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise InternalError(
        f"the data folder '{name}' is missing from this installation",
        where=str(_PACKAGE),
        fix="reinstall uhost",
    )


def bundled_model() -> Path:
    """Returns the path of the bundled demo model."""
    return _PACKAGE / "models" / "digits.tflite"


def bundled_samples(model: bytes) -> Path | None:
    """Returns the file of real samples where `model` is the bundled one, else None."""
    path = bundled_model()
    return path.with_suffix(".npz") if path.read_bytes() == model else None


def cache_folder() -> Path:
    """Returns the folder for what can be made again: `UHOST_CACHE`, else the user's cache."""
    if chosen := os.environ.get("UHOST_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "uhost"
