"""The command line: one file per verb, imported when the verb is used."""

from __future__ import annotations

import sys

import click

from uhost.cli._console import fail, unexpected, wants_json
from uhost.errors import ConfigError, UhostError
from uhost.registry import Registry

COMMANDS: Registry[click.Command] = Registry("uhost.cli", "COMMAND", "command")


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the verbs, by file name."""
        return list(COMMANDS.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the verb's command; None where there is none, so that click suggests."""
        return COMMANDS[cmd_name] if cmd_name in COMMANDS else None  # noqa: SIM401 - not a dict


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="uhost", prog_name="uhost")
def cli() -> None:
    """Compile a trained model to C, build firmware, and run it, proven right.

    Example: uhost run model.tflite --board stm32f746
    """


def main() -> None:
    """Runs the command line; every failure has an exit code and says what, where and fix."""
    try:
        code = cli(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except UhostError as error:
        sys.exit(fail(error))
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.UsageError as error:
        if wants_json():
            sys.exit(fail(ConfigError(error.format_message(), fix="see --help")))
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        sys.exit(fail(ConfigError(error.format_message())))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:  # noqa: BLE001 - the last place that can turn a bug into a message
        sys.exit(fail(unexpected(error)))
