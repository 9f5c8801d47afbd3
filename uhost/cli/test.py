"""`uhost test`: the Robot test of a model's firmware, in Renode."""

from __future__ import annotations

from pathlib import Path

import click

from uhost.cli._console import progress, show
from uhost.cli._options import (
    board_option,
    json_option,
    model_argument,
    project_option,
    toolchain_option,
)
from uhost.cli._settings import Configured, Settings
from uhost.cli._work import built as build_model


@click.command(cls=Configured)
@model_argument
@board_option
@project_option
@toolchain_option
@json_option
def command(settings: Settings, project: Path | None, as_json: bool) -> int:
    """Build MODEL and run its Robot test with `renode-test`; MODEL may be a build's folder.

    The firmware must tell its build, run every model, and answer afterwards. Numbers are
    compared by `uhost verify --on renode`. Exit code 1 when the test fails.

    Example: uhost test kws.tflite --board stm32f746
    """
    from uhost.errors import ConfigError
    from uhost.report.records import results_json
    from uhost.runners import _renode_test
    from uhost.runners.renode import RUNNER

    with progress("Building"):
        built, _ = build_model(settings, project)
    board = built.compiled.board
    if reason := RUNNER.supports(board):
        raise ConfigError(
            f"the board '{board.name}' cannot be tested in Renode: {reason}",
            fix="choose another board, or use `uhost verify`",
        )
    passed = _renode_test.run(built.folder, quiet=as_json)
    results = built.folder / _renode_test.RESULTS
    if as_json:
        click.echo(results_json([{"board": board.name, "passed": passed, "results": str(results)}]))
    else:
        show(f"{'Passed' if passed else 'Failed'} on {board.name} in Renode; details in {results}/")
    return 0 if passed else 1


COMMAND = command
