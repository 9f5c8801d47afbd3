"""Project files for the tests of configuration, and an outside target for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from uhost.config._layers import Values
from uhost.config.project import read_project
from uhost.config.resolve import Resolved, resolve
from uhost.errors import ConfigError
from uhost.targets._target import TARGETS

HERE = Path(__file__).resolve().parent


def write_project(folder: Path, text: str) -> Path:
    """Returns the path of a project file with `text`."""
    path = folder / "uhost.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def resolved(folder: Path, text: str, values: Values | None = None) -> Resolved:
    """Returns what a project file with `text` and the command line `values` resolve to."""
    return resolve(values or {}, read_project(write_project(folder, text)))


def refusal(folder: Path, text: str, values: Values | None = None) -> tuple[str, str, str]:
    """Returns what, where (from the file's name on) and fix of the refusal."""
    with pytest.raises(ConfigError) as caught:
        resolved(folder, text, values)
    error = caught.value
    return error.what, error.where.replace(f"{folder}/", ""), error.fix


@contextmanager
def outside_npu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs the target `npu` of an outside package."""
    monkeypatch.syspath_prepend(str(HERE / "outside_npu"))
    vars(TARGETS).pop("_outside", None)
    yield
    monkeypatch.undo()
    for name in [name for name in sys.modules if name.startswith("acme_npu")]:
        del sys.modules[name]
    vars(TARGETS).pop("_outside", None)
