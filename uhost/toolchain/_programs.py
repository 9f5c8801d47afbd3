"""Finds outside programs: by an environment variable, else on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from uhost.errors import ToolNotFoundError
from uhost.toolchain._toolchain import Located

VERSION_TIMEOUT_S = 20.0


class MisdirectedVariableError(ToolNotFoundError):
    """A variable that should name a program points nowhere."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program uhost calls: its name on PATH, the variable that overrides it, how to get it."""

    name: str
    variable: str
    install: str

    def locate(self) -> Located:
        """Returns the program found and the first line it says of its version.

        Raises as `find` does, and `ToolNotFoundError` for a program that does not run.
        """
        argv = (self.find(),)
        return Located(argv, version_of(argv))

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
