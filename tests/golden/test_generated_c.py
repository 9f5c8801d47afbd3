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
from uhost.codegen.artifact import Artifact
from uhost.codegen.emit import emit
from uhost.config.board import load_board
from uhost.config.compilation import CompilationConfig, Executor
from uhost.config.resolve import preset
from uhost.errors import BuildError
from uhost.kernels._kernel import candidates, library_names
from uhost.ops._op import OPERATORS
from uhost.toolchain._toolchain import TOOLCHAINS

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
    # The FPU's kernels take no integers, which most operators' first examples hold.
    examples = (e for e in OPERATORS[kind].examples() if library != "fpu" or "float32" in e.tags)
    graph = next(examples).graph
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


def test_model_h_of_a_dsp_kernel_says_what_it_is_for() -> None:
    line = b" * For cortex-m7 and other Arm CPUs with the DSP extension.\n"
    for name in ("model.c", "model.h"):
        assert line in generated("conv_2d", "dsp")[name]
        assert b"DSP" not in generated("conv_2d", "reference")[name]


@pytest.mark.needs("host_cc")
def test_c_for_the_dsp_extension_tells_another_cpu_so(tmp_path: Path) -> None:
    host, toolchain = load_board("host"), TOOLCHAINS["host_cc"]
    toolchain.build_objects(Artifact(generated("conv_2d", "reference")), host, tmp_path / "any")
    with pytest.raises(BuildError) as caught:
        toolchain.build_objects(Artifact(generated("conv_2d", "dsp")), host, tmp_path / "dsp")
    assert (
        "generated for a CPU with the DSP extension, such as cortex-m7: compile with "
        "-mcpu=cortex-m7" in caught.value.what
    )


def test_the_status_of_weights_is_declared_only_where_they_are_given() -> None:
    board = load_board("host")
    graph = next(iter(OPERATORS["conv_2d"].examples())).graph
    for link_params in (True, False):
        config = replace(preset(board), executor=Executor("aot", link_params=link_params))
        header = emit([driver.lower(graph, config)], config, "VERSION").files["model.h"]
        assert (b"_BAD_PARAMS = 3 /*" in header) is not link_params
        assert b"stdbool" not in header


def test_no_golden_file_is_left_over() -> None:
    expected = {f"{library}-{kind}.c" for kind, library in cases()} | {"conv_2d.h"}
    assert {path.name for path in FOLDER.iterdir()} == expected
