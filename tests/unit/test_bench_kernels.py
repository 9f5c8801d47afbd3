"""`uhost bench` of several models: each is compiled alone, with the kernels forced on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from small_models import write_two_models

from uhost.cli import cli
from uhost.errors import ConfigError


def bench(folder: Path, monkeypatch: pytest.MonkeyPatch, kernels: str, *arguments: str) -> Result:
    paths = write_two_models(folder)
    (folder / "uhost.yaml").write_text(
        "models:\n"
        + "".join(f"  {name}: {path}\n" for name, path in paths.items())
        + f"board: host\nkernels: {{{kernels}}}\n"
    )
    monkeypatch.chdir(folder)
    return CliRunner().invoke(cli, ["bench", "--json", *arguments])


@pytest.mark.needs("host_cc")
def test_a_choice_for_one_model_is_not_asked_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = bench(tmp_path, monkeypatch, "one.conv_2d_0: reference")
    assert done.exit_code == 0, done.output + repr(done.exception)
    assert [row["model"] for row in json.loads(done.stdout)["results"]] == ["one", "two"]


def test_a_model_still_gets_its_own_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = bench(tmp_path, monkeypatch, "two.conv_2d_0: dsp")
    assert isinstance(done.exception, ConfigError)  # the host has no such library
    assert "no device target has the kernel library 'dsp'" in done.exception.what
    assert done.exception.where == "model 'two'"


def test_a_choice_for_no_model_is_refused_before_any_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = bench(tmp_path, monkeypatch, "three.conv: reference")
    assert isinstance(done.exception, ConfigError)
    assert done.exception.what.startswith("no model has an operator 'three.conv'.")
    assert done.exception.where == "key kernels"
