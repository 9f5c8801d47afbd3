"""What the command line prints, where: results to standard output, notes to standard error."""

from __future__ import annotations

import io
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from uhost.errors import InternalError, UhostError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


class Output(io.FileIO):
    """The file that standard output goes to; keeps the error of a write that failed.

    The exception alone does not tell: a failed write of any other file looks the same.
    """

    error: OSError | None = None

    def write(self, content: Buffer, /) -> int:
        """Writes as `FileIO` does."""
        try:
            return super().write(content)
        except OSError as error:
            self.error = error
            raise


def watch_output() -> Output:
    """Returns the file that standard output goes to from now on: the one it did.

    What an encoding does not have is printed as `?`, and is no failure.
    """
    stdout: TextIO | None = sys.stdout
    if stdout is None:  # it was closed before the start
        file, encoding = Output(os.devnull, "w"), "utf-8"
    else:
        file, encoding = Output(stdout.fileno(), "w", closefd=False), stdout.encoding
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(file), encoding, errors="replace", line_buffering=file.isatty()
    )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")
    return file


def wants_json() -> bool:
    """True if `--json` is on the command line."""
    return "--json" in sys.argv[1:]


def show(*parts: object) -> None:
    """Prints results for people to standard output, wide when it is not a terminal."""
    from rich.console import Console

    class Printer(Console):
        def on_broken_pipe(self) -> None:
            """Leaves the exit code to `main`: rich would end with that of a difference."""
            raise BrokenPipeError

    console = Printer(highlight=False, soft_wrap=not sys.stdout.isatty())
    if not console.is_terminal:
        console = Printer(highlight=False, width=200)
    for part in parts:
        console.print(part)


def terminal_width() -> int:
    """Returns the columns a picture may take: the terminal's, 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100


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


def discard(stream: TextIO) -> None:
    """Drops what `stream` still holds and is given, so that Python's end cannot fail on it."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def unexpected(error: Exception) -> UhostError:
    """Returns the `InternalError` for an exception that is a bug in uhost."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return InternalError(
        f"a bug in uhost: {type(error).__name__}: {error}",
        where=place,
        fix="please report it with this message and the command line",
    )
