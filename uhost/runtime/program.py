"""Program: models printed as C for one board, with all that running them takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.codegen.executable import Executable
from uhost.config.board import Board
from uhost.errors import ConfigError

FIRMWARE = "firmware/"
OBJECTS = "obj/"

FUNCTIONS = ("get_params", "get_params_blob", "remove_params", "debug_create")
"""What a module answers to besides its models' names."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Models as files for a board, in the order of the firmware's table.

    `artifact` holds the model's C (or its object), and the firmware around it where there
    is one. `digest` is what the firmware says of itself. `portable` is true for C that
    any machine runs. `library` is the shared library of a program that is built already.
    """

    models: tuple[Executable, ...]
    board: Board
    artifact: Artifact
    digest: str
    portable: bool = False
    library: Path | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names."""
        return tuple(model.name for model in self.models)

    @property
    def model_files(self) -> Artifact:
        """The files without the firmware: what an application of one's own needs."""
        files = self.artifact.files
        return Artifact({p: c for p, c in files.items() if is_model_file(p)})

    @property
    def has_firmware(self) -> bool:
        """True if an image for the board can be linked from the files."""
        return any(path.startswith(FIRMWARE) for path in self.artifact.files)


def is_model_file(path: str) -> bool:
    """True for a file of the models themselves; the others are of the firmware around them."""
    return "/" not in path or path.startswith(OBJECTS)


def index_of(names: Sequence[str], name: str, functions: Sequence[str] = ()) -> int:
    """Returns the place of a model; raises `ConfigError` for a name that is none."""
    if name not in names:
        listed = f"models: {', '.join(names)}"
        raise ConfigError(
            f"the module has no model '{name}'",
            fix=f"{listed}; functions: {', '.join(functions)}" if functions else listed,
        )
    return names.index(name)


def check_names(names: Sequence[str]) -> None:
    """Raises `ConfigError` for a model that has the name of a module's function."""
    for name in names:
        if name in FUNCTIONS:
            raise ConfigError(
                f"a model cannot have the name '{name}': a module answers to it with a function",
                fix="give it another name: name=path",
            )
