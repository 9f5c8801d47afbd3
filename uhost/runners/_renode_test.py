"""Runs the Robot test of a build with `renode-test`, which comes with Renode."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from uhost.codegen.renode import FOLDER, ROBOT
from uhost.errors import ConfigError, RunnerError, ToolNotFoundError
from uhost.runners._process_group import await_end, end_group, exit_reason
from uhost.runners.renode import GET
from uhost.runners.renode import PROGRAM as RENODE
from uhost.toolchain._programs import MisdirectedVariableError, Program

PROGRAM = Program(name="renode-test", variable="UHOST_RENODE_TEST", install=GET)
RESULTS = f"{FOLDER}/results"
TIMEOUT_S = 1800.0
_PATIENCE_S = 5.0


def command(folder: Path) -> tuple[str, ...]:
    """Returns the arguments that run the test of the build in `folder`, the program left out."""
    return (str(folder / ROBOT), "-r", str(folder / RESULTS))


def locate() -> str:
    """Returns the path of `renode-test`: on PATH, else beside the Renode of UHOST_RENODE.

    Raises `ToolNotFoundError` with how to get it.
    """
    try:
        return PROGRAM.find()
    except MisdirectedVariableError:
        raise
    except ToolNotFoundError as error:
        if RENODE.variable in os.environ:
            beside = Path(RENODE.find()).parent / PROGRAM.name
            if os.access(beside, os.X_OK):
                return str(beside)
        raise ToolNotFoundError(
            error.what,
            where=error.where,
            fix=f"{GET}; its test runner lies beside it, or {PROGRAM.variable} names it",
        ) from None


def run(folder: Path, quiet: bool = False) -> bool:
    """Returns whether the test of the build in `folder` passes; its output is shown.

    Raises `ToolNotFoundError` with the command that would have been run, and `RunnerError`
    when the test cannot be run or does not end.
    """
    folder = folder.absolute()
    try:
        argv = (locate(), *command(folder))
    except ToolNotFoundError as error:
        by_hand = shlex.join((PROGRAM.name, *command(folder)))
        raise type(error)(error.what, error.where, f"{error.fix}; then: {by_hand}") from None
    if not (folder / ROBOT).is_file():
        raise ConfigError(
            f"the build has no {ROBOT}",
            where=str(folder),
            fix="choose a board with 'renode:', or build again",
        )
    try:
        # A session of its own: what it starts ends with it, whatever happens.
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if quiet else None,
            stderr=subprocess.DEVNULL if quiet else None,
            start_new_session=True,
        )
    except OSError as cause:
        raise RunnerError(
            f"'renode-test' cannot be started: {cause.strerror}", where=argv[0], fix=GET
        ) from None
    try:
        if not await_end(process, TIMEOUT_S):
            raise RunnerError(
                f"'renode-test' did not end within {TIMEOUT_S:g} s",
                where=str(folder / RESULTS),
                fix=f"run it by hand: {shlex.join(argv)}",
            )
        return exit_reason(process) == "exit code 0"
    finally:
        end_group(process, _PATIENCE_S)
