"""What the command line prints, where: results to standard output, notes to standard error."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from uhost.errors import InternalError, UhostError


def wants_json() -> bool:
    """True if `--json` is on the command line."""
    return "--json" in sys.argv[1:]


def show(*parts: object) -> None:
    """Prints results for people to standard output, wide when it is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    for part in parts:
        console.print(part)


def note(text: str) -> None:
    """Prints one line of remark to standard error; with `--json`, only errors go there."""
    if not wants_json():
        click.echo(text, err=True)


@contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
    """Shows what is being done while it takes long; silent where nobody watches."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status(title) as status:
        yield lambda text: status.update(f"{title}: {text}")


def fail(error: UhostError) -> int:
    """Prints an error, as one JSON object with `--json`; returns the exit code."""
    if wants_json():
        from uhost.report.records import error_json

        click.echo(error_json(error), err=True)
    else:
        click.echo(f"error: {error}", err=True)
    return error.exit_code


def unexpected(error: Exception) -> UhostError:
    """Returns the `InternalError` for an exception that is a bug in uhost."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return InternalError(
        f"a bug in uhost: {type(error).__name__}: {error}",
        where=place,
        fix="please report it with this message and the command line",
    )
