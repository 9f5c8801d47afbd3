"""Documents say what is true: paths exist, verbs and options exist, fields are those printed."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import uhost
from uhost import errors
from uhost.cli import COMMANDS, cli
from uhost.registry import Registry
from uhost.report.compare import compare_results, comparison_records
from uhost.report.records import benchmark_record, error_json, evaluation_record
from uhost.runners._runner import RUNNERS
from uhost.runtime.benchmark import Benchmark, PlacedBlock, Spread, Timing
from uhost.runtime.build_folder import Manifest
from uhost.runtime.evaluation import Comparison, Evaluation, OperatorFigures
from uhost.toolchain._toolchain import TOOLCHAINS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")))
}
JSON = DOCUMENTS["docs/json.md"]

_SUFFIXES = ("py", "md", "c", "h", "j2", "yaml", "toml", "npz", "tflite", "json", "ld")
_PATH = re.compile(rf"(?:[\w.-]+/)+(?:[\w.-]+\.(?:{'|'.join(_SUFFIXES)}))?")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*(?=[./]|$)")


def code_spans(text: str) -> list[str]:
    """Returns what stands between backticks within a line, outside fenced blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))


def fenced_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.S)


def repository_paths() -> Iterator[tuple[str, str]]:
    """Yields (document, path) for every path in backticks, and every relative link."""
    for name, text in DOCUMENTS.items():
        for span in code_spans(text):
            if _PATH.fullmatch(span):
                yield name, span
        prose = re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.S)
        for target in re.findall(r"\]\(([^)#]+)\)", prose):
            if "://" not in target:
                folder = (ROOT / name).parent
                yield name, (folder / target).resolve().relative_to(ROOT).as_posix()


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Yields (document, words after `uhost`) for every command line in a document or help text."""
    for name, text in DOCUMENTS.items():
        lines = [*code_spans(text), *re.findall(r"^    (uhost .+)$", text, flags=re.M)]
        lines += [line for block in fenced_blocks(text, "sh") for line in block.splitlines()]
        for line in lines:
            if line.startswith("uhost "):
                yield name, shlex.split(line, comments=True)[1:]
    for verb in COMMANDS.names():
        for example in re.findall(r"Example: uhost (.+)", COMMANDS[verb].help or ""):
            yield f"{verb} --help", shlex.split(example)


def section(text: str, heading: str) -> str:
    """Returns the text under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(heading)}$\n(.*?)(?=^#|\Z)", text, flags=re.M | re.S)
    assert found, f"there is no heading '{heading}'"
    return found[1]


def first_column(text: str) -> list[str]:
    """Returns the first cells of the first table in `text`, without backticks."""
    table = re.search(r"^\|.*\n\|[-:| ]+\|\n((?:\|.*\n?)+)", text, flags=re.M)
    assert table, "there is no table"
    return [row.split("|")[1].strip().strip("`") for row in table[1].splitlines()]


def paragraph_after(text: str, beginning: str) -> str:
    assert beginning in text, f"there is no line '{beginning}'"
    return text.split(beginning, 1)[1]


def evaluation() -> Evaluation:
    return Evaluation(
        model="model",
        board="host",
        runner="host",
        toolchain="host_cc",
        clock_hz=0,
        instructions=None,
        cycles=None,
        model_flash_bytes=1,
        image_flash_bytes=1,
        arena_bytes=8,
        arena_lower_bound_bytes=8,
        stack_bytes=None,
        model_ram_bytes=None,
        image_ram_bytes=8,
        operators=(OperatorFigures("relu_0", "relu", 0, "reference/relu"),),
        comparisons=(Comparison("y", "reference", True, True, 0.0),),
    )


# ---- Paths ----------------------------------------------------------------------------------


def test_every_path_in_a_document_exists() -> None:
    missing = []
    for name, path in sorted(set(repository_paths())):
        if path.startswith("build/"):
            continue  # what `uhost build` writes
        # Of a path with a placeholder, uhost/ops/NAME.py, the folder before it must exist.
        placeholder = _PLACEHOLDER.search(path)
        existing = path[: placeholder.start()].rpartition("/")[0] if placeholder else path
        if not (ROOT / existing).exists():
            missing.append(f"{name}: {path}")
    assert not missing


def test_paths_are_found_at_all() -> None:
    found = {path for _, path in repository_paths()}
    assert {"uhost/driver.py", "firmware/rpc/", "uhost/ops/NAME.py", "docs/json.md"} <= found


def test_a_placeholder_is_a_whole_word() -> None:
    assert _PLACEHOLDER.search("boards/NAME.yaml")
    assert not _PLACEHOLDER.search("docs/json.md")


# ---- The command line -----------------------------------------------------------------------


def test_every_command_line_names_a_verb_and_its_options() -> None:
    lines = list(command_lines())
    assert len(lines) > 10
    for name, words in lines:
        if words[0].startswith("-"):
            assert words[0] in {"--version", "--help", "-h"}, f"{name}: uhost {words[0]}"
            continue
        if words[0] == "VERB":
            continue
        assert words[0] in COMMANDS, f"{name}: there is no verb '{words[0]}'"
        command = COMMANDS[words[0]]
        if isinstance(command, click.Group) and len(words) > 1:
            assert words[1] in command.commands, f"{name}: uhost {' '.join(words)}"
            command = command.commands[words[1]]
        known = {
            option
            for parameter in command.get_params(click.Context(command))
            for option in (*parameter.opts, *parameter.secondary_opts)
        } | {"--help", "-h"}
        unknown = {word for word in words[1:] if word.startswith("-")} - known
        assert not unknown, f"{name}: uhost {' '.join(words)}: no {unknown}"


def test_every_help_text_has_an_example_of_its_verb() -> None:
    for verb in COMMANDS.names():
        assert [w[0] for name, w in command_lines() if name == f"{verb} --help"] == [verb]


def test_verbs_named_in_messages_exist() -> None:
    named = {
        (path.name, verb)
        for path in (ROOT / "uhost").rglob("*.py")
        for verb in re.findall(r"`uhost ([a-z_]+)", path.read_text())
    }
    assert ("_unsupported.py", "ops") in named
    assert not [(file, verb) for file, verb in named if verb not in COMMANDS]


def test_every_verb_is_documented() -> None:
    documented = {words[0] for name, words in command_lines() if name == "README.md"}
    assert set(COMMANDS.names()) - {"completion"} <= documented
    changes = code_spans(DOCUMENTS["CHANGELOG.md"])
    assert set(COMMANDS.names()) <= set(changes)


def has_json(command: click.Command) -> bool:
    if isinstance(command, click.Group):
        return any(map(has_json, command.commands.values()))
    return any("--json" in parameter.opts for parameter in command.params)


def test_json_document_covers_every_verb_that_prints_json() -> None:
    prints_json = {name for name in COMMANDS.names() if has_json(COMMANDS[name])}
    headings = re.findall(r"^## (`.*)$", JSON, flags=re.M)
    assert {verb for heading in headings for verb in re.findall(r"`(\w+)`", heading)} == prints_json


@pytest.mark.parametrize(
    ("registry", "row"),
    [(RUNNERS, "runners"), (TOOLCHAINS, "toolchains")],
    ids=["runners", "tools"],
)
def test_readme_lists_runners_and_toolchains(registry: Registry[Any], row: str) -> None:
    line = re.search(rf"^\| {row} \|([^|]*)\|", DOCUMENTS["README.md"], flags=re.M)
    assert line
    assert set(re.findall(r"`(\w+)`", line[1])) == set(registry.names())


def test_variables_named_in_documents_are_read() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "uhost").rglob("*.py"))
    named = {word for text in DOCUMENTS.values() for word in re.findall(r"\bUHOST_[A-Z_]+", text)}
    assert "UHOST_ARM_GCC" in named
    assert not [word for word in sorted(named) if f'"{word}"' not in sources]


# ---- Python ---------------------------------------------------------------------------------


def test_readme_shows_the_example_of_the_package() -> None:
    assert uhost.__doc__
    example = uhost.__doc__.split("\n\n", 1)[1].strip()
    assert [example] == [block.strip() for block in fenced_blocks(DOCUMENTS["README.md"], "python")]


def test_names_of_the_package_exist() -> None:
    for name, text in DOCUMENTS.items():
        for public in re.findall(r"`uhost\.(\w+)\(", text):
            assert public in uhost.__all__, f"{name}: uhost.{public}"
    for public in uhost.__all__:
        assert getattr(uhost, public)


def test_layers_are_those_that_are_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    (block,) = fenced_blocks(DOCUMENTS["docs/architecture.md"], "layers")
    assert block.split("\n")[:-1] == layers


# ---- JSON -----------------------------------------------------------------------------------


def test_fields_of_run_verify_and_bench() -> None:
    record = evaluation_record(evaluation())
    text = section(JSON, "`run`, `verify`, `bench`")
    assert first_column(text) == list(record)
    operators = paragraph_after(text, "An entry of `operators`:")
    assert first_column(operators) == list(record["operators"][0])
    comparisons = paragraph_after(text, "An entry of `comparisons`:")
    assert first_column(comparisons) == list(record["comparisons"][0])


def test_fields_of_bench() -> None:
    spread = Spread(1.0, 1.0, 1.0)
    timing = Timing(1, 8, 8, spread, spread, spread, spread, (None,), (None,))
    block = PlacedBlock("x", "input", 0, 8, 0, 0)
    record = benchmark_record(Benchmark(evaluation(), timing, (block,)))
    plain = evaluation_record(evaluation())
    text = section(JSON, "`run`, `verify`, `bench`")
    more = first_column(paragraph_after(text, "`bench` has two fields more:"))
    assert list(record) == [*plain, *more]
    also = first_column(paragraph_after(text, "Its entries of `operators` also have:"))
    assert list(record["operators"][0]) == [*plain["operators"][0], *also]
    assert first_column(paragraph_after(text, "\n`timing`;")) == list(record["timing"])
    assert list(record["timing"]["cycles"]) == ["min", "median", "p95"]
    memory = first_column(paragraph_after(text, "An entry of `memory`:"))
    assert memory == list(record["memory"][0])


def test_fields_of_a_comparison() -> None:
    record = evaluation_record(evaluation())
    compared = comparison_records(compare_results([record], [record]))[0]
    text = section(JSON, "`bench --compare`")
    assert first_column(text) == list(compared)
    figures = first_column(paragraph_after(text, "An entry of `figures`:"))
    assert figures == list(compared["figures"][0]) == list(compared["operators"][0])


def test_fields_of_build() -> None:
    documented = first_column(section(JSON, "`build`"))
    assert documented == [*Manifest.__struct_fields__, "folder"]


@pytest.mark.parametrize("verb", ["compile", "inspect", "boards", "ops", "doctor"])
def test_fields_of_other_verbs(verb: str, tmp_path: Path) -> None:
    arguments = {"compile": ["--board", "stm32f746", "-o", str(tmp_path / "out")]}.get(verb, [])
    done = CliRunner().invoke(cli, [verb, *arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    printed = json.loads(done.stdout)
    assert list(printed) == ["uhost", "results"]
    assert printed["uhost"] == uhost.__version__
    for result in printed["results"]:
        assert first_column(section(JSON, f"`{verb}`")) == list(result)


@pytest.mark.parametrize("field", ["inputs", "outputs", "operators"])
def test_fields_of_inspected_parts(field: str) -> None:
    done = CliRunner().invoke(cli, ["inspect", "--json"], catch_exceptions=False)
    result = json.loads(done.stdout)["results"][0]
    row = re.search(rf"^\| `{field}` \|[^|]*\|(.*)\|$", section(JSON, "`inspect`"), flags=re.M)
    assert row
    if field == "outputs":
        assert "likewise" in row[1]
        assert list(result["outputs"][0]) == list(result["inputs"][0])
    else:
        assert re.findall(r"`(\w+)`", row[1]) == list(result[field][0])


def test_fields_of_errors() -> None:
    printed = json.loads(error_json(errors.ConfigError("what", "where", "fix")))
    assert first_column(section(JSON, "Errors")) == list(printed)


def exit_codes() -> Mapping[int, str]:
    """Exit code → the error class right below `UhostError` that has it."""
    return {kind.exit_code: kind.__name__ for kind in errors.UhostError.__subclasses__()}


def test_exit_codes() -> None:
    rows = re.findall(r"^\| (\d+) \| (?:`(\w+)`)? *\|", section(JSON, "Exit codes"), flags=re.M)
    assert {int(code): name for code, name in rows} == {0: "", 1: "", **exit_codes()}
    readme = first_column(section(DOCUMENTS["README.md"], "Exit codes"))
    assert readme == [code for code, _ in rows]
