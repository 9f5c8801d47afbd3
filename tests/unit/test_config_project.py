"""The project file: every mistake of it at once, each with line, key, type and spelling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from config_files import refusal, resolved, write_project

from uhost.config.project import FILE_NAME, find_project, json_schema, leaves
from uhost.config.resolve import resolve
from uhost.errors import ConfigError

WRONG = """\
board: stm32f746
modles: kws.tflite
executor:
  aot:
    link_param: true
    alignment_bytes: 12
passes:
  opt_level: high
  disabled: fold_constants
pools:
  workspace:
    - {name: ram, size_byte: 4}
    - size_bytes: 0
run:
  on: [unicorn]
numerics: tflite
"""


def test_all_mistakes_of_a_file_come_at_once(tmp_path: Path) -> None:
    what, where, fix = refusal(tmp_path, WRONG)
    assert (where, fix) == (FILE_NAME, "correct each of them")
    assert what == (
        "10 mistakes:\n"
        "  line 2, key modles: unknown key 'modles' (did you mean 'models'? known: bench, board, "
        "executor, flash_limit, host, input_shapes, kernels, models, numerics, optimize, output, "
        "passes, pools, ram_limit, run, runtime, targets, toolchain, verify)\n"
        "  line 5, key executor.aot.link_param: unknown key 'link_param' (did you mean "
        "'link_params'? known: alignment_bytes, c_prefix, interface_api, keep_input, "
        "link_params, params_placement, shared_arena)\n"
        "  line 6, key executor.aot.alignment_bytes: wrong value: invalid enum value 12 "
        "(expected one of 8, 16, 32, 64, 128, 256)\n"
        "  line 8, key passes.opt_level: wrong value: expected `int`, got `str` "
        "(expected an integer from 0 to 3)\n"
        "  line 9, key passes.disabled: wrong value: expected `array`, got `str` "
        "(expected a list, each item text)\n"
        "  line 12, key pools.workspace[0].size_byte: unknown key 'size_byte' (did you mean "
        "'size_bytes'? known: alignment_bytes, name, size_bytes, speed, targets)\n"
        "  line 13, key pools.workspace[1]: the key 'name' is missing, expected text "
        "(add 'name:')\n"
        "  line 13, key pools.workspace[1].size_bytes: wrong value: expected `int` >= 1 "
        "(expected an integer, at least 1)\n"
        "  line 15, key run.on: wrong value: expected `str`, got `array` (expected text)\n"
        "  line 16, key numerics: wrong value: invalid enum value 'tflite' "
        "(did you mean 'tflm'? expected one of tflm)"
    )


def test_one_mistake_is_told_alone(tmp_path: Path) -> None:
    assert refusal(tmp_path, "board: host\nrun: {verfy: true}\n") == (
        "unknown key 'verfy'",
        "uhost.yaml:2, key run.verfy",
        "did you mean 'verify'? known: input, labels, on, output, preprocess, quantize_input, "
        "reset_each, verify",
    )


def test_names_that_do_not_exist_are_told_at_once(tmp_path: Path) -> None:
    text = """\
board: stm32f746
toolchain: armgcc
targets:
  cortexm: {}
kernels: {conv_2d_0: dps}
passes: {disabled: [fold_constant], options: {remove_dead: {depth: 1}}}
run: {on: unicron}
bench: {on: quemu}
host: cortex_m
"""
    what, where, _ = refusal(tmp_path, text)
    assert where == FILE_NAME
    assert [line.partition(" (")[0] for line in what.splitlines()] == [
        "9 mistakes:",
        "  line 2, key toolchain: there is no toolchain 'armgcc'",
        "  line 3, key targets: there is no target 'cortexm'",
        "  line 3, key targets: the first device target is 'cortexm', but the CPU of the board "
        "'stm32f746' is the target 'cortex_m'",
        "  line 5, key kernels.conv_2d_0: there is no kernel library 'dps'",
        "  line 6, key passes.disabled: there is no pass 'fold_constant'",
        "  line 6, key passes.options.remove_dead.depth: there is no pass 'remove_dead'",
        "  line 7, key run.on: there is no runner 'unicron'",
        "  line 8, key bench.on: there is no runner 'quemu'",
        "  line 9, key host: the host is 'cortex_m', but devices are driven by this machine",
    ]
    for spelling in ("arm_gcc", "cortex_m", "dsp", "fold_constants", "unicorn", "qemu"):
        assert f"did you mean '{spelling}'?" in what


def test_on_and_off_are_text_and_only_true_is_a_truth_value(tmp_path: Path) -> None:
    text = "board: host\nrun: {on: host, output: no, verify: true}\n"
    run = resolved(tmp_path, text).run
    assert (run.on, run.output, run.verify) == ("host", str(tmp_path / "no"), True)
    assert refusal(tmp_path, "board: host\nrun: {verify: yes}\n") == (
        "wrong value: expected `bool`, got `str`",
        "uhost.yaml:2, key run.verify",
        "expected true or false",
    )


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("", "the file is empty", "uhost.yaml"),
        ("- board", "wrong value: expected `object`, got `array`", "uhost.yaml:1"),
        (
            "board: a\nboard: b\n",
            "the key 'board' occurs twice; first on line 1",
            "uhost.yaml:2",
        ),
        ("board: [", "not valid YAML: expected the node content, but found '<stream end>'", None),
        ("3: a", "a key must be text, not '3'", "uhost.yaml:1"),
    ],
)
def test_what_is_no_project_file(tmp_path: Path, text: str, what: str, where: str | None) -> None:
    found = refusal(tmp_path, text)
    assert found[0] == what
    assert where is None or found[1] == where


def test_paths_start_at_the_project_file(tmp_path: Path) -> None:
    text = """\
board: boards/own.yaml
models: {a: m/a.tflite, b: ../b.tflite}
output: out
passes: {dump: graphs}
run: {input: {a: in.npz}, output: out.npz}
verify: {golden: g.npz}
"""
    board = tmp_path / "boards" / "own.yaml"
    board.parent.mkdir()
    own = "description: own\ntarget: {kind: host, fpu: double}\nrunners: [host]\nverified: []\n"
    board.write_text(own)
    found = resolved(tmp_path, text)
    assert found.board.file == board.resolve()
    assert found.models == (("a", f"{tmp_path}/m/a.tflite"), ("b", f"{tmp_path}/../b.tflite"))
    assert found.output == f"{tmp_path}/out"
    assert found.passes.dump == f"{tmp_path}/graphs"
    assert found.run.input == {"a": f"{tmp_path}/in.npz"}
    assert (found.run.output, found.verify.golden) == (f"{tmp_path}/out.npz", f"{tmp_path}/g.npz")


def test_a_board_beside_the_project_is_known_by_its_name(tmp_path: Path) -> None:
    board = tmp_path / "boards" / "own.yaml"
    board.parent.mkdir()
    own = "description: own\ntarget: {kind: host, fpu: double}\nrunners: [host]\nverified: []\n"
    board.write_text(own)
    assert resolved(tmp_path, "board: own\n").board.name == "own"
    assert resolved(tmp_path, "board: host\n", {("board",): ("own", "--board")}).board.name == "own"
    assert refusal(tmp_path, "board: onw\n")[:2] == (
        "there is no board 'onw'",
        "uhost.yaml:1, key board",
    )


@pytest.mark.parametrize("name", ["microbit", "stm32f746"])
def test_a_board_beside_the_project_goes_before_one_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    board = tmp_path / "boards" / f"{name}.yaml"
    board.parent.mkdir()
    own = "description: own\ntarget: {kind: host, fpu: double}\nrunners: [host]\nverified: []\n"
    board.write_text(own)
    found = resolved(tmp_path, f"board: {name}\n")
    assert (found.board.description, found.board.file) == ("own", board)
    assert found.origins["board"] == (str(board), "uhost.yaml:1")
    monkeypatch.chdir(tmp_path)
    assert resolve({("board",): (name, "--board")}).board.file is None  # no project here


def test_the_project_file_is_found(tmp_path: Path) -> None:
    assert find_project(None, tmp_path) is None
    path = write_project(tmp_path, "board: host\n")
    assert find_project(None, tmp_path) == path
    assert find_project(path, Path("/nowhere")) == path
    assert find_project(tmp_path, Path("/nowhere")) == path
    with pytest.raises(ConfigError) as caught:
        find_project(tmp_path / "other.yaml", tmp_path)
    assert caught.value.what == f"there is no project file '{tmp_path}/other.yaml'"
    assert caught.value.fix == "give the path of a uhost.yaml, or make a project with `uhost new`"


def test_leaves_are_in_order_and_keep_what_selects() -> None:
    plain = {"b": {"x": 1, "y": {"z": [2]}}, "a": {}, "models": {"n": "p"}}
    assert list(leaves(plain)) == [
        (("b", "x"), 1),
        (("b", "y", "z"), [2]),
        (("a",), {}),
        (("models",), {"n": "p"}),
    ]


def test_the_schema_describes_every_key_and_allows_no_other() -> None:
    schema = json.loads(json_schema())
    assert schema["$schema"].endswith("2020-12/schema")
    for name, definition in schema["$defs"].items():
        assert definition["type"] == "object", name
        assert definition["additionalProperties"] is False, name
        for key, value in definition["properties"].items():
            assert "description" in value or "$ref" in value, f"{name}.{key}"
