"""`uhost config`: what is configured, and who said so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from uhost.cli._options import board_option, json_option, project_option, toolchain_option
from uhost.cli._settings import Configured, Settings
from uhost.cli._work import configured
from uhost.errors import ConfigError

if TYPE_CHECKING:
    from uhost.config._layers import Setting


@click.group()
def command() -> None:
    """Show the configuration, or the schema of a project file.

    Example: uhost config show --explain --board stm32f746
    """


@command.command("show", cls=Configured)
@board_option
@project_option
@toolchain_option
@click.option("--resolved", is_flag=True, help="Every value, as a whole project file.")
@click.option("--explain", is_flag=True, help="Every value, and who set it.")
@json_option
def show(
    settings: Settings, project: Path | None, resolved: bool, explain: bool, as_json: bool
) -> None:
    """Print what the project file and the command line say.

    With --resolved, every value there is, the board's and the defaults included, in the
    form of a project file; with --explain, each beside who set it.

    Example: uhost config show --explain --board stm32f746
    """
    import msgspec

    from uhost.config._yaml import to_yaml
    from uhost.report.records import results_json

    if not resolved and not explain:
        plain = _written(settings, project)
    else:
        found = configured(settings, project)
        plain = found.as_project()
        if explain:
            rows = [(key, _text(value), origin) for key, (value, origin) in found.origins.items()]
            if as_json:
                records = [
                    {"key": key, "value": msgspec.to_builtins(value), "origin": origin}
                    for key, (value, origin) in found.origins.items()
                ]
                click.echo(results_json(records))
            else:
                click.echo(_columns(rows))
            return
    if as_json:
        click.echo(results_json([plain]))
    else:
        click.echo(to_yaml(plain), nl=False)


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of a project file, for editors.

    Example: uhost config schema
    """
    from uhost.config.project import json_schema

    click.echo(json_schema(), nl=False)


def _written(settings: Settings, project: Path | None) -> dict[str, Any]:
    """Returns what is written: the project file, and over it the command line."""
    from uhost.config._layers import CHOSEN, command_line_layer, file_layer, merge
    from uhost.config._yaml import together
    from uhost.config.project import FILE_NAME, find_project, read_project
    from uhost.config.resolve import check_written

    path = find_project(project, Path())
    typed, mistakes = command_line_layer(settings)
    if mistakes:
        raise together(mistakes, "command line")
    if path is None and not settings:
        raise ConfigError(
            f"there is no {FILE_NAME} here, and nothing is on the command line",
            fix="add --project FILE or --board, or make a project with `uhost new`",
        )
    file = read_project(path) if path else None
    check_written(settings, file)
    merged = merge([file_layer(file) if file else {}, typed])
    plain: dict[str, Any] = {}
    for keys, setting in merged.items():
        _put(plain, keys, setting, names=keys in CHOSEN)
    return plain


def _put(plain: dict[str, Any], keys: tuple[str, ...], setting: Setting, *, names: bool) -> None:
    inner = plain
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
    if names:
        section = inner.setdefault(keys[-1], {})
        for name in setting.value:
            section.setdefault(name, {})
    else:
        value = setting.value
        inner[keys[-1]] = list(value) if isinstance(value, tuple) else value


def _text(value: object) -> str:
    """Returns a value on one line, as it could be written in a project file."""
    import msgspec

    from uhost.config.compilation import Pool

    if isinstance(value, str) and value:
        return value
    plain = msgspec.to_builtins(value)
    if isinstance(plain, list) and plain and isinstance(plain[0], dict):
        usual = msgspec.to_builtins(Pool(""))
        plain = [{k: v for k, v in pool.items() if v != usual.get(k)} for pool in plain]
    return msgspec.json.encode(plain).decode()


def _columns(rows: list[tuple[str, str, str]]) -> str:
    """Returns the rows with aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    return "\n".join(
        f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for key, value, origin in rows
    )


COMMAND = command
