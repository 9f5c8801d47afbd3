"""The configuration's document and JSON Schema are those that the schema gives."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from uhost.config.project import Project

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "make_configuration", ROOT / "docs" / "make_configuration.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_document_is_current(generator: ModuleType) -> None:
    assert (ROOT / "docs" / "configuration.md").read_text() == generator.document(), (
        "run `./dev docs`"
    )


def test_the_schema_is_current(generator: ModuleType) -> None:
    assert generator.SCHEMA.read_text() == generator.json_schema(), "run `./dev docs`"


def test_every_key_is_a_row_with_type_default_and_place(generator: ModuleType) -> None:
    rows = list(generator.rows())
    keys = [row[0] for row in rows]
    assert len(keys) == len(set(keys))
    assert {key.split(".")[0] for key in keys} == set(Project.__struct_fields__)
    for key, kind, default, lives, _, meaning in rows:
        assert kind, key
        assert kind != "another value", key
        assert default, key
        assert re.fullmatch("C[012]", lives), key
        assert meaning, key
