"""Labels: the names of a classifier's classes, in the order of its scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from uhost.errors import ConfigError


def labels_of(value: Any, model: str, scores: int | None) -> tuple[str, ...]:
    """Returns a model's labels: of a list, of a file, or of a mapping model → either.

    A file has one label a line; numbers from 0 before them, as some makers of models write,
    are left out. `scores` is how many a classifier has, None for a model that is none.
    Raises `ConfigError` where the labels are not one for each score; () for no labels.
    """
    if isinstance(value, dict):
        value = value.get(model)
    if not value:
        return ()
    where = f"run.labels of '{model}'" if isinstance(value, list | tuple) else str(value)
    labels = tuple(value) if isinstance(value, list | tuple) else _read(Path(value))
    if scores is None:
        raise ConfigError(
            f"'{model}' gives no scores of classes that labels could name",
            where=where,
            fix="leave out the labels, or give them as MODEL: FILE for the model they are of",
        )
    if len(labels) != scores:
        raise ConfigError(
            f"there are {len(labels)} labels, '{model}' gives {scores} scores",
            where=where,
            fix="give one label for each score, in the model's order",
        )
    return labels


def _read(path: Path) -> tuple[str, ...]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(
            f"the file of labels cannot be read: {error.strerror or error}",
            where=str(path),
            fix="check the path",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            "the file of labels is not text in UTF-8",
            where=str(path),
            fix="save it as text, one label a line",
        ) from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    parts = [line.split(maxsplit=1) for line in lines]
    numbered = all(len(p) == 2 and p[0].rstrip(":,") == str(i) for i, p in enumerate(parts))
    return tuple(p[1] for p in parts) if numbered else tuple(lines)
