"""The command line: one file per verb, imported when the verb is used."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import click

from uhost.cli._console import Output, discard, fail, unexpected, wants_json, watch_output
from uhost.errors import ConfigError, Interrupted, UhostError
from uhost.registry import Registry

COMMANDS: Registry[click.Command] = Registry("uhost.cli", "COMMAND", "command")


class _Stopped(Exception):
    """Carries past click what click would end with an exit code or a line of its own."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


class _Verbs(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        """Runs the verb; a broken pipe and Ctrl-C are raised to `main`."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, KeyboardInterrupt) as cause:
            raise _Stopped(cause) from None

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
    output = watch_output()
    try:
        code = _run(output)
        with contextlib.suppress(OSError):  # `output` keeps it
            sys.stdout.flush()
        if isinstance(output.error, BrokenPipeError):
            raise output.error
        if output.error is not None:
            discard(sys.stdout)
            code = fail(
                ConfigError(
                    f"cannot write standard output: {output.error.strerror}",
                    fix="free space there, or send the output elsewhere",
                )
            )
    except KeyboardInterrupt:
        code = _interrupted()
    except BrokenPipeError:  # who reads has enough: the code of a program that SIGPIPE ends
        code = 141
        discard(sys.stdout)
        discard(sys.stderr)
    sys.exit(code)


def _run(output: Output) -> int:
    """Returns the exit code of the command line, after telling what failed."""
    try:
        code = cli(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except _Stopped as stopped:
        raise stopped.cause from None
    except UhostError as error:
        return fail(error)
    except click.exceptions.Abort:
        return _interrupted()
    except click.UsageError as error:
        if wants_json():
            return fail(ConfigError(error.format_message(), fix="see --help"))
        error.show()
        return 2
    except click.ClickException as error:
        return fail(ConfigError(error.format_message()))
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last place that can turn a bug into a message
        return ConfigError.exit_code if error is output.error else fail(unexpected(error))


def _interrupted() -> int:
    if wants_json():
        return fail(Interrupted("interrupted by the user"))
    click.echo("interrupted", err=True)
    return Interrupted.exit_code
