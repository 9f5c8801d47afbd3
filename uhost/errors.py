"""Every error uhost raises on purpose: what happened, where, and how to mend it.

UhostError(what, where, fix)
├ ConfigError      the user's configuration: project file, options, environment
│ ├ BoardError     a board or chip file
│ └ TargetError    a target that does not exist or cannot do what was asked
├ ModelError       the model file
│ ├ MalformedModelError      truncated, corrupt or inconsistent
│ └ UnsupportedOperatorError all unsupported operators at once
├ CompileError     the model is sound, the compilation is impossible
│ ├ VerifyError    a value broke its own invariants
│ ├ PassError
│ ├ OutOfMemoryError
│ └ TemplateError
├ ToolError        an outside program
│ ├ ToolNotFoundError
│ ├ BuildError
│ └ RunnerError
├ DeviceError      the device or the way to it
│ ├ TransportError
│ ├ DeadlineError
│ ├ ProtocolError
│ ├ RemoteError    the device answered with an error
│ └ DeviceFault    the firmware crashed
├ Interrupted      the user stopped it
└ InternalError    a bug in uhost
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class UhostError(Exception):
    """A failure with what went wrong, where, and how to mend it.

    `exit_code` is the process exit code of the command line for this kind of error.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.fix:
            lines.append(f"  fix:   {self.fix}")
        return "\n".join(lines)


class ConfigError(UhostError):
    """The configuration cannot be used as written."""

    exit_code = 2


class BoardError(ConfigError):
    """A board or chip file is wrong."""


class TargetError(ConfigError):
    """A target is unknown or cannot do what was asked of it."""


class ModelError(UhostError):
    """The model cannot be used."""

    exit_code = 3


class MalformedModelError(ModelError):
    """The model file is truncated, corrupt or contradicts itself."""


@dataclass(frozen=True, slots=True)
class FileOperator:
    """An operator as a model file has it: `reason` says why it cannot be taken, "" where it can."""

    index: int
    operator: str
    outputs: tuple[str, ...]
    reason: str


class UnsupportedOperatorError(ModelError):
    """The model needs operators, types or options that uhost does not have.

    `operators` are all of the model file, in order; none where the file was taken and only
    a kernel is missing.
    """

    def __init__(
        self, what: str, where: str = "", fix: str = "", operators: tuple[FileOperator, ...] = ()
    ) -> None:
        super().__init__(what, where, fix)
        self.operators = operators


class CompileError(UhostError):
    """A sound model cannot be compiled as asked."""

    exit_code = 4


class VerifyError(CompileError):
    """A graph, plan or call broke its invariants."""


class PassError(CompileError):
    """A pass failed or was configured wrongly."""


class OutOfMemoryError(CompileError):
    """The model does not fit the memory of the board."""


class TemplateError(CompileError):
    """A template could not be rendered."""


class ToolError(UhostError):
    """An outside program failed."""

    exit_code = 5


class ToolNotFoundError(ToolError):
    """An outside program is not installed, or its variable points nowhere."""


class BuildError(ToolError):
    """The compiler or linker refused the generated code."""


class RunnerError(ToolError):
    """A simulator or flasher could not be started or died."""


class DeviceError(UhostError):
    """The device, or the line to it, failed."""

    exit_code = 6


class TransportError(DeviceError):
    """The line to the device broke."""


class DeadlineError(DeviceError):
    """The device did not answer in the time the work allows."""


class ProtocolError(DeviceError):
    """The device speaks another protocol, or spoke it wrongly."""


class RemoteError(DeviceError):
    """The device refused a request."""


class DeviceFault(DeviceError):
    """The firmware crashed; the report says where."""


class Interrupted(UhostError):
    """The user stopped it, with Ctrl-C."""

    exit_code = 130


class InternalError(UhostError):
    """A bug in uhost."""
