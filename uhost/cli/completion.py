"""`uhost completion`: the script that makes a shell complete uhost's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a SHELL.

    Example: uhost completion bash >> ~/.bashrc
    """
    from uhost.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "uhost", "_UHOST_COMPLETE").source())


COMMAND = command
