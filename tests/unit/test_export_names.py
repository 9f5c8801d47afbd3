"""Names from models become unique, stable, legal identifiers wherever they are printed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from small_models import expected_output, small_graph, small_sample, write_model

import uhost
from uhost.codegen.c_interface import member_names
from uhost.codegen.names import Names, comment, identifier
from uhost.errors import ConfigError

NAMES = {
    "while": "m_while",
    "class": "m_class",
    "3d": "m_3d",
    "a/b*/ c\n??/": "a_b_c",
    "größe": "gr_e",
    "模型": "unnamed",
    "x" * 300: "x" * 48,
    "run": "run",
    "call": "call",
    "arena": "arena",
    "conv_2d": "conv_2d",
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items(), ids=list(NAMES.values()))
def test_identifiers_of_models(name: str, expected: str) -> None:
    assert identifier(name) == expected
    assert expected.isidentifier()
    assert "__" not in expected


@pytest.mark.needs("arm_gcc", "host_cc")
def test_one_module_of_all_names_builds_and_runs(tmp_path: Path) -> None:
    tensors = {
        "input": '/in put:0;*/ "\\ ??/ größe',
        "output": "while",
        "weights": "3/" + "w" * 300,
        "bias": "\N{SNOWMAN}",
    }
    graph = small_graph(5, tensors)
    path = write_model(tmp_path, graph, "model")
    module = uhost.build(dict.fromkeys(NAMES, path), board="mps2_an500")
    assert module.names == tuple(NAMES.values())
    module.export_library(tmp_path / "all.tar")
    given = small_sample()
    for made in (module, uhost.load_module(tmp_path / "all.tar")):
        for name in ("run", "call", "m_while", "unnamed", "conv_2d"):
            for device in (uhost.cpu(0), uhost.device("mps2_an500")):
                with made[name](device) as executor:
                    executor.set_input(tensors["input"], given)
                    executor.run()
                    made_output = executor.get_output("while")
                assert np.array_equal(made_output, expected_output(graph, given))
    module.export_library(tmp_path / "c")
    header = (tmp_path / "c" / "model.h").read_text()
    assert header.isascii()
    (tmp_path / "use.cpp").write_text('#include "c/model.h"\nint main() { return RUN_OK; }\n')
    subprocess.run(["c++", "-Wall", "-Werror", "-c", "use.cpp"], cwd=tmp_path, check=True)


def test_names_that_become_one_are_an_error(tmp_path: Path) -> None:
    path = write_model(tmp_path, small_graph(5))
    for one, two, name in (("a/b", "a-b", "a_b"), ("模型", "モデル", "unnamed")):
        with pytest.raises(ConfigError) as caught:
            uhost.build({one: path, two: path}, board="host")
        assert caught.value.what == f"two models have the name '{name}'"
        assert caught.value.fix == "give one another name: name=path"


def test_reserved_names_are_not_handed_out() -> None:
    names = Names()
    names.reserve("kws_run")
    assert names.unique("kws/run") == "kws_run_2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a */ b /* c", "a * / b / * c"),
        ("line\nline\t\\", "line_line__"),
        ("größe", "gr__e"),
        ("what??/", "what? ?/"),
    ],
)
def test_comments_end_where_they_should(text: str, expected: str) -> None:
    assert comment(text) == expected


def test_members_of_the_c_interface() -> None:
    names = ["input_1", "input 1", "3d", "int", "class", "_Bool", "a:0;b/c", "größe", ""]
    assert list(member_names(names).values()) == [
        *("input_1", "input_1_2", "m_3d", "m_int", "m_class", "m__Bool"),
        *("a_0_b_c", "gr__e", "unnamed"),
    ]
