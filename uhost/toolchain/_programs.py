"""Finds outside programs: by an environment variable, else on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from uhost.errors import ToolNotFoundError
from uhost.toolchain._toolchain import Located

VERSION_TIMEOUT_S = 20.0


class MisdirectedVariableError(ToolNotFoundError):
    """A variable that should name a program points nowhere, or to one that does not do."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program uhost calls: its name on PATH, the variable that overrides it, how to get it."""

    name: str
    variable: str
    install: str

    def locate(self) -> Located:
        """Returns the program found and the first line it says of its version.

        Raises as `find` does, and `ToolNotFoundError` for a program that does not run,
        `MisdirectedVariableError` if the variable names it.
        """
        argv = (self.find(),)
        try:
            return Located(argv, version_of(argv))
        except ToolNotFoundError as error:
            reason = error.what.removeprefix(f"'{argv[0]}' ")
            raise self.unfit(argv, reason, error.fix) from None

    def unfit(self, argv: tuple[str, ...], reason: str, fix: str) -> ToolNotFoundError:
        """Returns the error for a program that was found and cannot be used.

        `reason` says what it does or lacks, as "has no newlib"; `fix` mends it on PATH. A
        program that the user named is never passed over: `MisdirectedVariableError`.
        """
        if self.overridden():
            return MisdirectedVariableError(
                f"{self.variable} names '{argv[0]}', which {reason}",
                where=f"environment variable {self.variable}",
                fix=f"correct {self.variable}, or unset it to search PATH for '{self.name}'",
            )
        return ToolNotFoundError(f"'{argv[0]}' {reason}", where=argv[0], fix=fix)

    def overridden(self) -> bool:
        """Returns whether the user names the program, by the variable."""
        return bool(os.environ.get(self.variable))

    def find(self) -> str:
        """Returns the program's absolute path, without running it.

        Raises `MisdirectedVariableError` for a variable that points nowhere, and
        `ToolNotFoundError` for a program that is not on PATH.
        """
        override = os.environ.get(self.variable)
        path = shutil.which(override) if override else shutil.which(self.name)
        if path is not None:
            return os.path.abspath(path)  # programs run in the build folder
        if override:
            raise MisdirectedVariableError(
                f"the variable {self.variable} points nowhere: "
                f"'{override}' is not an executable program",
                where=f"environment variable {self.variable}",
                fix=f"correct {self.variable}, or unset it to search PATH for '{self.name}'",
            )
        raise ToolNotFoundError(
            f"'{self.name}' is not on PATH",
            where="PATH",
            fix=f"install it with `{self.install}`, or set {self.variable} to its path",
        )


def ask(argv: Sequence[str], option: str) -> str:
    """Returns what a compiler answers to `option`; "" if it does not."""
    try:
        result = subprocess.run(
            (*argv, option),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if result.returncode else result.stdout.strip()


def locate_gcc(program: Program, machine: str, library: str, specs: str) -> Located:
    """Returns a bare-metal GCC whose `-dumpmachine` begins with `machine` and that has `specs`.

    Raises as `Program.locate` does, and the same for a GCC that lacks `library`, which brings
    `specs`. A GCC found by its own name is not asked for its machine.
    """
    located = program.locate()
    if program.overridden():
        check_machine(program, located, lambda found: found.startswith(machine))
    if not os.path.isabs(ask(located.argv, f"-print-file-name={specs}")):
        raise program.unfit(
            located.argv,
            f"has no {library}: {specs} is missing",
            f"install it with `{program.install}`",
        )
    return located


def check_machine(program: Program, located: Located, fits: Callable[[str], bool]) -> None:
    """Raises as `Program.unfit` for a program that builds for another machine, or none."""
    machine = ask(located.argv, "-dumpmachine").partition("\n")[0]
    if not fits(machine):
        reason = f"builds for {machine}" if machine else "is no C compiler"
        raise program.unfit(located.argv, reason, f"install it with `{program.install}`")


def version_of(argv: tuple[str, ...], option: str = "--version") -> str:
    """Returns the first line of `argv option`; raises `ToolNotFoundError` if it does not run."""
    try:
        result = subprocess.run(
            (*argv, option),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise ToolNotFoundError(
            f"'{argv[0]}' does not run: {cause}", where=argv[0], fix="reinstall it"
        ) from None
    lines = result.stdout.strip().splitlines()
    if result.returncode or not lines:
        raise ToolNotFoundError(
            f"'{argv[0]}' does not run: `{option}` ended with status {result.returncode}",
            where=argv[0],
            fix="reinstall it",
        )
    return lines[0]
