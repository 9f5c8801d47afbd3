"""The command line and the project file together: options, `config`, `new`, build folders."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from uhost import resources
from uhost.cli import cli
from uhost.cli._settings import Configured, SettingOption, named_models
from uhost.cli.build import COMMAND as BUILD
from uhost.config._yaml import parse_scalar
from uhost.config.compilation import EXECUTORS, RUNTIMES
from uhost.config.project import Project, TargetOptions, described_fields, options_of
from uhost.errors import ConfigError
from uhost.targets._target import TARGETS

MODEL = resources.bundled_model()


def uhost(*arguments: str | Path, folder: Path) -> Result:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(cli, [str(a) for a in arguments])
    finally:
        os.chdir(before)


def results(*arguments: str | Path, folder: Path) -> Any:
    done = uhost(*arguments, folder=folder)
    assert done.exit_code == 0, done.output + repr(done.exception)
    return json.loads(done.stdout)["results"]


def error(*arguments: str | Path, folder: Path) -> ConfigError:
    done = uhost(*arguments, folder=folder)
    assert isinstance(done.exception, ConfigError), done.output
    return done.exception


def explained(*arguments: str | Path, folder: Path) -> dict[str, tuple[object, str]]:
    rows = results("config", "show", "--explain", "--json", *arguments, folder=folder)
    return {row["key"]: (row["value"], row["origin"]) for row in rows}


# ---- Options made from the schema -----------------------------------------------------------


def test_every_option_of_targets_executors_and_runtimes_is_in_the_help() -> None:
    assert isinstance(BUILD, Configured)
    options = {
        name
        for parameter in BUILD.get_params(click.Context(BUILD))
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    wanted = {"--target", "--executor", "--runtime", "--c-prefix", "--pass-option"}
    wanted |= {
        f"--target-{kind}-{field.name}"
        for kind in TARGETS.names()
        for field in described_fields(TargetOptions)
    }
    for what, known in (("executor", EXECUTORS), ("runtime", RUNTIMES)):
        for name, kind in known.items():
            for field in described_fields(options_of(kind)):
                wanted.add(f"--{what}-{name}-{field.name}")
                if field.kind is bool:
                    wanted.add(f"--no-{what}-{name}-{field.name}")
    assert {name.replace("_", "-") for name in wanted} <= options
    text = CliRunner().invoke(cli, ["build", "--help"]).output
    for heading in ("Options:", "Targets:", "Executor:", "Runtime:", "Passes:"):
        assert f"\n{heading}\n" in text
    assert "--target-cortex-m-cpu" in text
    assert "--executor-aot-link-params / --no-executor-aot-link-params" in text


def test_every_generated_option_sets_its_key(tmp_path: Path) -> None:
    arguments = (
        *("--board", "stm32f746", "--target", "cortex_m"),
        *("--target-cortex-m-cpu", "cortex-m7", "--target-cortex-m-features", "fpu,dsp"),
        *("--target-cortex-m-libraries", "reference", "--executor", "aot"),
        *("--no-executor-aot-link-params", "--executor-aot-alignment-bytes", "16"),
        *("--no-executor-aot-shared-arena", "--c-prefix", "tvmgen", "--runtime", "crt"),
        *("--no-runtime-crt-system-lib", "--opt-level", "1", "--disable-pass", "fold_constants"),
        *("--require-pass", "remove_dead_operators", "--dump-passes", "graphs"),
        *("--check-passes", "--time-passes", "--toolchain", "zig"),
    )
    origins = explained(*arguments, folder=tmp_path)
    assert {key: value for key, (value, who) in origins.items() if who == "command line"} == {
        "board": "stm32f746",
        "targets.cortex_m.cpu": "cortex-m7",
        "targets.cortex_m.features": ["dsp", "fpu"],
        "targets.cortex_m.libraries": ["reference"],
        "executor.aot.link_params": False,
        "executor.aot.alignment_bytes": 16,
        "executor.aot.shared_arena": False,
        "executor.aot.c_prefix": "tvmgen",
        "runtime.crt.system_lib": False,
        "passes.opt_level": 1,
        "passes.required": ["remove_dead_operators"],
        "passes.disabled": ["fold_constants"],
        "passes.dump": "graphs",
        "passes.check": True,
        "passes.time": True,
        "toolchain": "zig",
    }


@pytest.mark.parametrize(
    ("arguments", "what", "where", "fix"),
    [
        (
            ("--target-host-cpu", "x"),
            "'cpu' is an option of the target 'host', which is not selected",
            "command line, --target-host-cpu",
            "selected: cortex_m; select the target, or remove the option",
        ),
        (
            ("--pass-option", "fold_constants.depth=3"),
            "the pass 'fold_constants' has no option 'depth'",
            "command line, --pass-option fold_constants.depth=3",
            "it has none",
        ),
        (
            ("--pass-option", "depth=3"),
            "'depth=3' does not say which option of which pass",
            "command line, --pass-option",
            "write --pass-option PASS.OPTION=VALUE",
        ),
        (
            ("--executor-aot-alignment-bytes", "12"),
            "wrong value: invalid enum value 12",
            "command line, --executor-aot-alignment-bytes",
            "expected one of 8, 16, 32, 64, 128, 256",
        ),
        (
            ("--c-prefix", "9"),
            "wrong value: expected `str` matching regex '^([A-Za-z_][A-Za-z0-9_]*)?$'",
            "command line, --executor-aot-c-prefix",
            "expected text that matches ^([A-Za-z_][A-Za-z0-9_]*)?$",
        ),
    ],
)
def test_a_wrong_option_names_itself(
    tmp_path: Path, arguments: tuple[str, ...], what: str, where: str, fix: str
) -> None:
    found = error("build", "--board", "stm32f746", *arguments, folder=tmp_path)
    assert (found.what, found.where, found.fix) == (what, where, fix)


def test_setting_options_have_keys_and_names() -> None:
    assert isinstance(BUILD, Configured)
    for parameter in BUILD.get_params(click.Context(BUILD)):
        if isinstance(parameter, SettingOption):
            assert parameter.keys, parameter.opts
            assert parameter.help, parameter.opts


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("true", True), ("on", "on"), ("[1, a]", [1, "a"]), ("[", "[")]
)
def test_a_value_on_the_command_line_is_one_of_a_file(text: str, value: object) -> None:
    assert parse_scalar(text) == value


def test_two_models_of_one_name_on_the_command_line() -> None:
    assert named_models(["a/kws.tflite", "other=b/kws.tflite"]) == {
        "kws": "a/kws.tflite",
        "other": "b/kws.tflite",
    }
    with pytest.raises(ConfigError) as caught:
        named_models(["a/kws.tflite", "b/kws.tflite"])
    assert caught.value.what == "two models have the name 'kws'"
    assert caught.value.where == "a/kws.tflite and b/kws.tflite"


# ---- config ---------------------------------------------------------------------------------


def test_show_prints_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "uhost.yaml").write_text("board: stm32f746\nrun: {on: unicorn}\n")
    shown = uhost("config", "show", "--target-cortex-m-features", "dsp", folder=tmp_path).stdout
    assert shown == (
        "board: stm32f746\nrun:\n  on: unicorn\ntargets:\n  cortex_m:\n    features:\n    - dsp\n"
    )
    assert results("config", "show", "--json", folder=tmp_path) == [
        {"board": "stm32f746", "run": {"on": "unicorn"}}
    ]


def test_show_without_anything_written(tmp_path: Path) -> None:
    found = error("config", "show", folder=tmp_path)
    assert found.what == "there is no uhost.yaml here, and nothing is on the command line"
    assert found.fix == "add --project FILE or --board, or make a project with `uhost new`"


def test_a_resolved_configuration_is_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "uhost.yaml").write_text("board: stm32f746\nrun: {on: unicorn}\n")
    text = uhost("config", "show", "--resolved", folder=tmp_path).stdout
    (tmp_path / "full.yaml").write_text(text)
    again = uhost("config", "show", "--resolved", "--project", "full.yaml", folder=tmp_path)
    assert again.stdout == text
    assert "  aot:\n    link_params: true\n" in text


def test_explain_aligns_values_and_who_set_them(tmp_path: Path) -> None:
    (tmp_path / "uhost.yaml").write_text("board: stm32f746\nrun: {on: unicorn}\n")
    lines = uhost("config", "show", "--explain", folder=tmp_path).stdout.splitlines()
    assert lines[0].split() == ["models", "null", "default"]
    assert lines[2].split()[:2] == ["board", "stm32f746"]
    columns = {
        line.index(origin) for line, origin in zip(lines, map(origin_of, lines), strict=True)
    }
    assert len(columns) == 1
    assert any(line.startswith("run.on ") and line.endswith("uhost.yaml:2") for line in lines)
    assert any("board stm32f746g_disco" in line for line in lines)
    assert any(line.startswith("host ") and line.endswith("this machine") for line in lines)


def test_explain_tells_defaults_too(tmp_path: Path) -> None:
    found = explained("--board", "stm32f746", folder=tmp_path)
    assert set(found) >= {"models", "kernels", "input_shapes", "passes.dump", "output", "run.on"}
    assert {key.partition(".")[0] for key in found} == set(Project.__struct_fields__)
    for key, value in (
        ("passes.required", []),
        ("passes.check", False),
        ("toolchain", None),
        ("run.verify", False),
        ("verify.golden", None),
        ("bench.samples", None),
    ):
        assert found[key] == (value, "default")


@pytest.mark.parametrize(
    ("text", "options", "what"),
    [
        ("{board}executor: {{aot: {{}}}}\n", ("--executor", "atto"), "there is no executor 'atto'"),
        ("{board}", ("--pass-option", "nap.depth=3"), "there is no pass 'nap'"),
        ("{board}passes: {{disabled: [nap]}}\n", (), "there is no pass 'nap'"),
        ("{board}run: {{on: unicron}}\n", (), "there is no runner 'unicron'"),
        ("{board}targets: {{cortexm: {{}}}}\n", (), "there is no target 'cortexm'"),
    ],
)
@pytest.mark.parametrize("board", ["", "board: stm32f746\n"])
def test_show_refuses_what_resolving_would(
    tmp_path: Path, text: str, options: tuple[str, ...], what: str, board: str
) -> None:
    (tmp_path / "uhost.yaml").write_text(text.format(board=board) or "numerics: tflm\n")
    assert what in error("config", "show", *options, folder=tmp_path).what


def test_show_checks_cpus_with_and_without_a_board(tmp_path: Path) -> None:
    options = ("--target", "cortex_m", "--target-cortex-m-cpu", "cortex-m9")
    found = error("config", "show", *options, folder=tmp_path)
    assert found.what == "there is no cortex_m CPU 'cortex-m9'"
    assert found.where == "command line, --target-cortex-m-cpu"
    assert found.fix.startswith("did you mean 'cortex-m")
    found = error("config", "show", "--board", "stm32f746", *options, folder=tmp_path)
    assert found.what == "there is no CPU 'cortex-m9' in the target 'cortex_m'"
    text = "numerics: tflm\ntargets: {cortex_m: {cpu: cortex-m0}}\n"
    (tmp_path / "uhost.yaml").write_text(text)
    assert uhost("config", "show", folder=tmp_path).exit_code == 0


def origin_of(line: str) -> str:
    return line.rpartition("  ")[2]


def test_the_schema_is_that_of_the_package(tmp_path: Path) -> None:
    shipped = Path(resources.__file__).parent / "config" / "uhost.schema.json"
    assert uhost("config", "schema", folder=tmp_path).stdout == shipped.read_text()


# ---- new, and projects ----------------------------------------------------------------------


def test_a_new_project_builds_and_runs_as_it_is(tmp_path: Path) -> None:
    assert uhost("new", tmp_path / "p", "--board", "host", folder=tmp_path).exit_code == 0
    folder = tmp_path / "p"
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore",
        "digits.tflite",
        "uhost.yaml",
    ]
    (built,) = results("build", "--json", folder=folder)
    assert (built["folder"], built["board"]) == ("build", "host")
    (ran,) = results("run", "--json", folder=folder)
    assert ran["exact"] is True
    (again,) = results("run", "build", "--json", folder=folder)
    assert again["exact"] is True
    (measured,) = results("bench", "--json", folder=folder)
    assert measured["model"] == "digits"
    (verified,) = results("verify", "--json", folder=folder)
    assert verified["matches"] is True


def test_a_new_project_holds_the_model_that_was_given(tmp_path: Path) -> None:
    given = tmp_path / "my model-1.tflite"
    given.write_bytes(MODEL.read_bytes())
    done = uhost("new", tmp_path / "p", given, "--board", "stm32f746", folder=tmp_path)
    assert done.exit_code == 0, done.output
    (path,) = (tmp_path / "p").glob("*.tflite")
    assert path.read_bytes() == MODEL.read_bytes()
    plain = results("config", "show", "--json", folder=tmp_path / "p")[0]
    assert list(plain["models"].values()) == [path.name]
    assert plain["run"] == {"on": "unicorn"}


def test_a_project_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "uhost.yaml").write_text("board: host\n")
    found = error("new", tmp_path, "--board", "host", folder=tmp_path)
    assert found.what == f"there is a project in '{tmp_path}' already"
    assert found.where == str(tmp_path / "uhost.yaml")
    assert found.fix == "choose another folder, or edit the file"


def test_a_new_project_needs_a_board(tmp_path: Path) -> None:
    assert error("new", tmp_path / "p", folder=tmp_path).what == "no board given"


def test_the_command_line_goes_before_the_project(tmp_path: Path) -> None:
    (tmp_path / "uhost.yaml").write_text(
        f"models: {{a: {MODEL}, b: {MODEL}}}\nboard: stm32f746\n"
        "executor: {aot: {alignment_bytes: 32}}\n"
    )
    arguments = ("compile", "--board", "host", "-o", "out", "--json")
    assert [r["model"] for r in results(*arguments, folder=tmp_path)] == ["a", "b"]
    (one,) = results(*arguments, f"c={MODEL}", folder=tmp_path)
    assert (one["model"], one["board"]) == ("c", "host")
    header = (tmp_path / "out" / "model.h").read_text()
    assert "C_ARENA_ALIGNMENT 32" in header


def test_two_models_of_one_name_in_a_project(tmp_path: Path) -> None:
    (tmp_path / "uhost.yaml").write_text("models: [a/m.tflite, b/m.tflite]\nboard: host\n")
    found = error("build", folder=tmp_path)
    assert found.what == "two models have the name 'm'"
    assert found.where == "a/m.tflite and b/m.tflite"
    assert found.fix == "give one another name: models: {NAME: PATH}"


def test_a_build_keeps_its_configuration(tmp_path: Path) -> None:
    arguments = (
        *("build", MODEL, "--board", "host", "-o", "out", "--json"),
        *("--executor-aot-alignment-bytes", "64", "--opt-level", "0"),
    )
    (built,) = results(*arguments, folder=tmp_path)
    assert built["config"]["executor"]["alignment_bytes"] == 64
    assert built["passes"]["opt_level"] == 0
    (ran,) = results("run", "out", "--json", folder=tmp_path)
    assert ran["exact"] is True


def test_a_build_cannot_be_configured_again(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    found = error("run", "out", "--opt-level", "0", folder=tmp_path)
    assert found.what == "--opt-level says how to build, and 'out' is built already"
    assert found.where == "command line, --opt-level"
    assert found.fix == "leave out --opt-level, or give the model's file"


def test_instruments_are_used(tmp_path: Path) -> None:
    arguments = ("compile", MODEL, "--board", "host", "-o", "out")
    done = uhost(
        *arguments, "--dump-passes", "graphs", "--check-passes", "--time-passes", folder=tmp_path
    )
    assert done.exit_code == 0, done.output
    assert len(list((tmp_path / "graphs").iterdir())) > 1
    assert "all passes" in done.stderr


def test_samples_of_a_benchmark_are_limited(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(MODEL.read_bytes())
    (tmp_path / "m.golden.npz").write_bytes(MODEL.with_suffix(".npz").read_bytes())
    counts = []
    for limit in ((), ("--samples", "2")):
        arguments = ("bench", "m.tflite", "--board", "host", "--json", *limit)
        (measured,) = results(*arguments, folder=tmp_path)
        counts.append(len(measured["comparisons"]))
    assert counts[1] == 2 < counts[0]
