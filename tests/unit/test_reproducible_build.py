"""Same input, same firmware: a program does not depend on the folder it is built in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from small_models import small_graph, write_model

from uhost import driver


@pytest.mark.parametrize(
    ("board", "toolchain"),
    [
        pytest.param("mps2_an500", "arm_gcc", marks=pytest.mark.needs("arm_gcc")),
        pytest.param("host", "host_cc", marks=pytest.mark.needs("host_cc")),
        ("mps2_an500", "zig"),
    ],
)
def test_two_folders_give_the_same_program(
    board: str, toolchain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = driver.compile_models(driver.load(write_model(tmp_path, small_graph(5))), board)
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    folders = (tmp_path / "a", tmp_path / "linked" / "longer" / "b")
    made = []
    for folder in folders:
        folder.mkdir(parents=True)
        monkeypatch.setenv("PWD", str(folder))  # as a shell that went there has it
        elf = driver.link(compiled, toolchain, folder).image.elf
        objects = sorted(path for path in folder.rglob("*.c.o") if path.is_file())
        made.append(
            (elf.read_bytes(), {str(p.relative_to(folder)): p.read_bytes() for p in objects})
        )
    (elf_a, objects_a), (elf_b, objects_b) = made
    assert objects_a, "nothing was compiled"
    assert [name for name in objects_a if objects_a[name] != objects_b[name]] == []
    assert elf_a == elf_b
    assert os.fsencode(tmp_path) not in elf_a
