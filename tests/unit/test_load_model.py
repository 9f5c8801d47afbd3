"""Finding the frontend of a file, and files that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from raw_tflite import (
    RawModel,
)

from uhost.errors import MalformedModelError, ModelError
from uhost.frontends import _frontend
from uhost.frontends._frontend import FRONTENDS, load_model


def message_of(path: Path | str) -> tuple[type[ModelError], str]:
    """Returns the kind and text of the error with which the file at `path` is refused."""
    with pytest.raises(ModelError) as error:
        load_model(path)
    return type(error.value), str(error.value)


def test_load_model(tmp_path: Path) -> None:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(RawModel().build())
    assert load_model(path).name == "tiny"
    assert load_model(str(path), "other").name == "other"
    assert load_model(path, "").name == ""


def test_errors_of_a_frontend_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(RawModel(version=2).build())
    with pytest.raises(ModelError) as error:
        load_model(path)
    assert error.value.where == f"{path}: model 'tiny'"


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.tflite"
    where = f"\n  where: {path}\n  fix:   "
    assert message_of(path) == (
        ModelError,
        f"the model file does not exist{where}check the path",
    )
    path.mkdir()
    assert message_of(path) == (
        ModelError,
        f"the model is a folder, not a file{where}give the model file inside it; "
        "a TensorFlow SavedModel must be converted to .tflite first",
    )
    path.rmdir()
    os.mkfifo(path)
    assert message_of(path) == (
        ModelError,
        f"the model is not a regular file{where}copy it into a file first",
    )
    path.unlink()
    path.write_bytes(b"")
    assert message_of(path) == (
        MalformedModelError,
        f"the model file is empty{where}export or download it again",
    )
    path.write_bytes(bytes(100))
    assert message_of(path) == (
        MalformedModelError,
        f"no frontend recognises the model file{where}give a model of a known format "
        f"({', '.join(FRONTENDS.names())}); if it is one, the file is damaged: "
        "export or download it again",
    )
    monkeypatch.setattr(_frontend, "FILE_LIMIT_BYTES", 2**20)
    path.write_bytes(bytes(2**20 + 1))
    assert message_of(path) == (
        ModelError,
        f"the model file is larger than 1 MiB{where}use a model made for microcontrollers",
    )

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert message_of(path) == (
        ModelError,
        f"the model file cannot be read: Permission denied{where}check the permissions",
    )
