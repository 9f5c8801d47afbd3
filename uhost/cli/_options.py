"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from uhost.cli._settings import SettingOption
from uhost.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])


def _boards(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from uhost.config.board import board_names, chip_names

    return [n for n in (*board_names(), *chip_names()) if n.startswith(typed)]


def _runners(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from uhost.runners._runner import RUNNERS

    return [name for name in RUNNERS.names() if name.startswith(typed)]


def _toolchains(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from uhost.toolchain._toolchain import TOOLCHAINS

    return [name for name in TOOLCHAINS.names() if name.startswith(typed)]


def _listed(package: str) -> str:
    """Returns the names of a registry as text, importing none of its entries."""
    return ", ".join(Registry[object](package, "", "").names())


def board_option(function: F) -> F:
    """Adds `--board`."""
    return click.option(
        "--board",
        "-b",
        cls=SettingOption,
        keys=("board",),
        metavar="BOARD",
        shell_complete=_boards,
        help="Board or chip name, or the path of a board file; `uhost boards` lists them.",
    )(function)


def runner_option(verb: str) -> Callable[[F], F]:
    """Returns what adds `--on`, as a key of the section `verb`."""
    return click.option(
        "--on",
        cls=SettingOption,
        keys=(verb, "on"),
        metavar="RUNNER",
        shell_complete=_runners,
        help=f"{_listed('uhost.runners')}. Default: the first that has the board's core.",
    )


def hardware_options(function: F) -> F:
    """Adds `--port` and `--probe`, which choose among real boards."""
    function = click.option(
        "--probe",
        default="",
        metavar="SERIAL",
        help="Serial number of the debug probe. Default: the only one.",
    )(function)
    return click.option(
        "--port",
        default="",
        metavar="PORT",
        help="Serial port of a real board. Default: $UHOST_PORT, else found by its USB id.",
    )(function)


def project_option(function: F) -> F:
    """Adds `--project`."""
    return click.option(
        "--project",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The project file, or its folder. Default: uhost.yaml here, if there is one.",
    )(function)


def toolchain_option(function: F) -> F:
    """Adds `--toolchain`."""
    return click.option(
        "--toolchain",
        cls=SettingOption,
        keys=("toolchain",),
        metavar="NAME",
        shell_complete=_toolchains,
        help=f"{_listed('uhost.toolchain')}. Default: the first that is installed.",
    )(function)


def json_option(function: F) -> F:
    """Adds `--json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object, for programs."
    )(function)


def model_argument(function: F) -> F:
    """Adds the optional MODEL argument: a file, a folder of `uhost build`, a `.tar` library."""
    return click.argument("model", required=False, metavar="[MODEL]")(function)


def models_argument(function: F) -> F:
    """Adds the MODEL arguments: files, each with a name before it where one is wanted."""
    return click.argument("models", nargs=-1, metavar="[[NAME=]MODEL]…")(function)


def name_option(function: F) -> F:
    """Adds `--model`."""
    return click.option(
        "--model",
        "name",
        metavar="NAME",
        help="One of several models. Default: all.",
    )(function)
