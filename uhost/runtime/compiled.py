"""What compiling models for one board gives, before and after the toolchain ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.codegen.lowered import Lowered
from uhost.config.board import Board
from uhost.config.compilation import CompilationConfig
from uhost.errors import ConfigError
from uhost.ir.graph import Graph
from uhost.toolchain._toolchain import Image


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A model as loaded: its graph, and the file's name and bytes it came from."""

    graph: Graph
    file_name: str
    content: bytes


@dataclass(frozen=True, slots=True, eq=False)
class CompiledModel:
    """One model of a compilation: `source` as loaded, `lowered` as printed."""

    source: Source
    lowered: Lowered

    @property
    def name(self) -> str:
        """The name by which the module knows it: a C identifier."""
        return self.lowered.identifier


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """Models as C for a board: all of them in one `artifact`.

    `digest` identifies the artifact; the firmware carries it, and a session refuses a
    device that runs another.
    """

    models: tuple[CompiledModel, ...]
    board: Board
    config: CompilationConfig
    artifact: Artifact
    digest: str

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names, in the order of the firmware's table."""
        return tuple(model.name for model in self.models)

    def index(self, name: str) -> int:
        """Returns the place of a model in the table; raises `ConfigError` for an unknown name."""
        if name not in self.names:
            raise ConfigError(
                f"the module has no model '{name}'", fix=f"it has: {', '.join(self.names)}"
            )
        return self.names.index(name)

    @property
    def arena_bytes(self) -> int:
        """Bytes of all arenas of the image."""
        sizes = [model.lowered.plan.arena_bytes for model in self.models]
        return max(sizes, default=0) if self.config.executor.shared_arena else sum(sizes)


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """Compiled models, and the image linked from them in `folder`."""

    compiled: Compiled
    image: Image
    folder: Path


Compile = Callable[[Compiled, Board], Compiled]
"""Compiles the same models for another board."""

Link = Callable[[Compiled], Built]
"""Runs the toolchain on compiled models."""
