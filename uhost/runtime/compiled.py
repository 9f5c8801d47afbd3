"""What compiling models for one board gives, before and after the toolchain ran."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.codegen.executable import executable_of
from uhost.codegen.lowered import Lowered, arena_bytes, pack_params
from uhost.codegen.placement import PlacedParams, place_params
from uhost.config.board import Board
from uhost.config.compilation import CompilationConfig
from uhost.config.pass_context import PassContext
from uhost.ir.graph import Graph
from uhost.runtime.program import Program, index_of
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
    device that runs another. `context` says how the passes worked, without instruments.
    """

    models: tuple[CompiledModel, ...]
    board: Board
    config: CompilationConfig
    artifact: Artifact
    digest: str
    context: PassContext = field(default_factory=PassContext)

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names, in the order of the firmware's table."""
        return tuple(model.name for model in self.models)

    def index(self, name: str) -> int:
        """Returns the place of a model in the table; raises `ConfigError` for an unknown name."""
        return index_of(self.names, name)

    def program(self) -> Program:
        """Returns the compilation without its graphs: what running it takes."""
        portable = all(
            selection.library == "reference"
            for model in self.models
            for selection in model.lowered.selections.values()
        )
        executor = self.config.executor
        models = tuple(executable_of(model.lowered, executor) for model in self.models)
        board = as_built(self.board, self.config)
        return Program(models, board, self.artifact, self.digest, portable)

    def params_blob(self, index: int) -> bytes:
        """Returns the weights of model `index` apart from its code."""
        return pack_params(self.models[index].lowered).blob

    def placed_params(self) -> tuple[PlacedParams, ...]:
        """Returns the weights that are not part of the code, in the order of the models."""
        lowered = [model.lowered for model in self.models]
        return place_params(lowered, self.config.executor, self.board)

    @property
    def arena_bytes(self) -> int:
        """Bytes of all arenas of the image."""
        return arena_bytes([model.lowered for model in self.models], self.config.executor)


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """Compiled models, and the image linked from them in `folder`."""

    compiled: Compiled
    image: Image
    folder: Path


def as_built(board: Board, config: CompilationConfig) -> Board:
    """Returns the board with the CPU and features that the code is built for."""
    same = [target for target in config.targets if target.kind == board.target.kind]
    return replace(board, target=same[0]) if same else board
