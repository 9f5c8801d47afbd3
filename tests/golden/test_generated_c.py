"""The generated C, as text: what a change of a template or a kernel does to it is seen here.

Each file is the whole model.c of an operator's first example. After a change that is
meant, run the tests with UHOST_UPDATE_GOLDEN=1 and read the difference.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from uhost import driver
from uhost.codegen.emit import emit
from uhost.config.board import load_board
from uhost.config.compilation import CompilationConfig
from uhost.kernels._kernel import candidates, library_names
from uhost.ops._op import OPERATORS

FOLDER = Path(__file__).resolve().parent / "c"


def cases() -> list[tuple[str, str]]:
    return [
        (kind, library)
        for kind in OPERATORS.names()
        for library in library_names()
        if candidates(kind, library)
    ]


def generated(kind: str, library: str) -> dict[str, bytes]:
    board = load_board("mps3_an547" if library == "mve" else "stm32f746")
    libraries = (library,) if library == "reference" else (library, "reference")
    target = replace(board.target, libraries=libraries)
    config = CompilationConfig(host=target, targets=(target,))
    graph = next(iter(OPERATORS[kind].examples())).graph
    return dict(emit([driver.lower(graph, config)], config, "VERSION").files)


def compare_with(path: Path, content: bytes) -> None:
    if os.environ.get("UHOST_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    assert path.read_bytes() == content, f"{path.name}: see this file's docstring"


@pytest.mark.parametrize(("kind", "library"), cases())
def test_model_c(kind: str, library: str) -> None:
    compare_with(FOLDER / f"{library}-{kind}.c", generated(kind, library)["model.c"])


def test_model_h() -> None:
    compare_with(FOLDER / "conv_2d.h", generated("conv_2d", "reference")["model.h"])


def test_no_golden_file_is_left_over() -> None:
    expected = {f"{library}-{kind}.c" for kind, library in cases()} | {"conv_2d.h"}
    assert {path.name for path in FOLDER.iterdir()} == expected
