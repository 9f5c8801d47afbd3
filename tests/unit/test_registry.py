"""Registries: names are file stems, unknown ones suggest, broken ones say so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from uhost.errors import ConfigError, InternalError
from uhost.registry import Registry


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "shelf_for_registry"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "_private.py").write_text("ENTRY = 0\n")
    (folder / "apple.py").write_text("ENTRY = 1\n")
    (folder / "broken.py").write_text("import a_package_that_is_not_there\n")
    (folder / "empty.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [n for n in sys.modules if n.startswith("shelf_for_registry")]:
        monkeypatch.delitem(sys.modules, name)
    return "shelf_for_registry"


def test_names_are_stems_without_private_files(package: str) -> None:
    registry: Registry[int] = Registry(package, "ENTRY", "fruit")
    assert registry.names() == ("apple", "broken", "empty")
    assert registry["apple"] == 1
    assert "apple" in registry
    assert "pear" not in registry


def test_an_unknown_name_suggests(package: str) -> None:
    registry: Registry[int] = Registry(package, "ENTRY", "fruit")
    with pytest.raises(ConfigError) as caught:
        registry["aple"]
    assert caught.value.what == "there is no fruit 'aple'"
    assert caught.value.fix == "did you mean 'apple'? known: apple, broken, empty"


def test_an_import_error_is_not_swallowed(package: str) -> None:
    registry: Registry[int] = Registry(package, "ENTRY", "fruit")
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        registry["broken"]


def test_a_file_without_the_symbol_is_a_bug(package: str) -> None:
    registry: Registry[int] = Registry(package, "ENTRY", "fruit")
    with pytest.raises(InternalError, match=r"shelf_for_registry\.empty does not define ENTRY"):
        registry["empty"]
