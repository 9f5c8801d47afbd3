"""Library: what a module holds, whether it was just compiled or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from uhost.codegen.artifact import Artifact
from uhost.config.board import Board, load_board
from uhost.config.compilation import CompilationConfig, Pool
from uhost.errors import ConfigError
from uhost.ir.tensor import Array
from uhost.runtime.compiled import Compiled, Source
from uhost.runtime.program import Program
from uhost.toolchain._toolchain import Image


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model as the user gave it: its name, and the file's name and bytes."""

    name: str
    file_name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of the straight line that a module takes later: on first use, or when asked."""

    load: Callable[[Sequence[ModelFile]], Sequence[Source]]
    compile: Callable[[Sequence[Source], Board, CompilationConfig], Compiled]
    link: Callable[[Program], Image]
    build_objects: Callable[[Board, Artifact, Path], tuple[Path, ...]]


Params = Mapping[str, Mapping[str, Array]]
"""Model → tensor name → the model's own constant."""


class Library(Protocol):
    """Models for a board, and where there are any the same for this machine."""

    @property
    def program(self) -> Program:
        """The models for the module's board."""

    @property
    def config(self) -> CompilationConfig:
        """The constraints the program meets."""

    @property
    def steps(self) -> Steps:
        """How to go on from here."""

    @property
    def native(self) -> Program:
        """The models for this machine; raises `ConfigError` where the library has none."""

    @property
    def graphs(self) -> Mapping[str, str]:
        """Model → its graph as text."""

    @property
    def params(self) -> Params:
        """The models' weights; empty where they were removed."""

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """The model files, where the library holds them."""

    def blob(self, name: str, board: Board) -> bytes | None:
        """Returns the weights of a model as its program for `board` reads them, if held."""

    def image(self) -> Image | None:
        """Returns the image of the program where it is built already."""

    def without_params(self) -> Library:
        """Returns the models without weights."""


class CompiledLibrary:
    """What compiling gave; the program for this machine is compiled on first use."""

    def __init__(self, compiled: Compiled, steps: Steps, image: Image | None = None) -> None:
        self._compiled = compiled
        self._image = image
        self._steps = steps

    @cached_property
    def program(self) -> Program:
        """The models for the module's board."""
        return self._compiled.program()

    @property
    def config(self) -> CompilationConfig:
        """The constraints the program meets."""
        return self._compiled.config

    @property
    def steps(self) -> Steps:
        """How to go on from here."""
        return self._steps

    @cached_property
    def native(self) -> Program:
        """The models for this machine."""
        native = self._native
        return self.program if native is self._compiled else native.program()

    @property
    def graphs(self) -> Mapping[str, str]:
        """Model → its graph as text."""
        return {model.name: str(model.source.graph) for model in self._compiled.models}

    @property
    def params(self) -> Params:
        """The models' weights."""
        return {
            model.name: {
                tensor.name: tensor.constant()
                for tensor in model.source.graph.tensors.values()
                if tensor.is_constant
            }
            for model in self._compiled.models
        }

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """The model files."""
        sources = (model.source for model in self._compiled.models)
        return tuple(ModelFile(s.graph.name, s.file_name, s.content) for s in sources)

    def blob(self, name: str, board: Board) -> bytes | None:
        """Returns the weights of a model as its program for `board` reads them."""
        is_own = board.board == self._compiled.board.board
        compiled = self._compiled if is_own else self._native
        return compiled.params_blob(compiled.index(name))

    def image(self) -> Image | None:
        """Returns the image of the program where it is built already."""
        return self._image

    def without_params(self) -> Library:
        """Returns the models without weights: compiled again, with weights as an argument."""
        executor = replace(self.config.executor, link_params=False, params_placement="ram")
        config = replace(self.config, executor=executor)
        compiled = self._steps.compile(self._sources, self._compiled.board, config)
        apart = CompiledLibrary(compiled, self._steps)
        return StoredLibrary(apart.program, config, self._steps, apart.native, graphs=apart.graphs)

    @property
    def _sources(self) -> tuple[Source, ...]:
        return tuple(model.source for model in self._compiled.models)

    @cached_property
    def _native(self) -> Compiled:
        if self._compiled.board.target.kind == self.config.host.kind:
            return self._compiled
        config = native_config(self.config)
        return self._steps.compile(self._sources, load_board("host"), config)


@dataclass(frozen=True)
class StoredLibrary:
    """What was read from a file, or what is left where weights were removed.

    `stored_native` is None, for the reason `no_native`, where there is no program for this
    machine. `blobs` is (board, model) → weights apart from the code.
    """

    program: Program
    config: CompilationConfig
    steps: Steps
    stored_native: Program | None = None
    no_native: str = ""
    graphs: Mapping[str, str] = field(default_factory=dict)
    params: Params = field(default_factory=dict)
    files: tuple[ModelFile, ...] = ()
    blobs: Mapping[tuple[str, str], bytes] = field(default_factory=dict)

    @property
    def native(self) -> Program:
        """The models for this machine; raises `ConfigError` where the library has none."""
        if self.stored_native is None:
            raise ConfigError(
                f"the module does not run on this machine: {self.no_native}",
                fix=f"run it on '{self.program.board.name}', or load the module's .tar, which "
                "holds a program for this machine as well",
            )
        return self.stored_native

    def blob(self, name: str, board: Board) -> bytes | None:
        """Returns the weights of a model as its program for `board` reads them, if held."""
        if (board.board, name) in self.blobs:
            return self.blobs[board.board, name]
        return self._compiled.blob(name, board) if self.files else None

    def image(self) -> Image | None:
        """Returns None: a stored library holds no image."""
        return None

    def without_params(self) -> Library:
        """Returns the models without weights; where code holds them, from the model files."""
        if all(model.params is not None for model in self.program.models):
            return replace(self, params={}, blobs={}, files=())
        if not self.files:
            raise ConfigError(
                "the weights cannot be taken out of this module: it does not hold its model files",
                fix="build the model again, or load the module's .tar, which holds them",
            )
        return self._compiled.without_params()

    @cached_property
    def _compiled(self) -> CompiledLibrary:
        """The model files, compiled again by this uhost."""
        sources = self.steps.load(self.files)
        board = self.program.board
        return CompiledLibrary(self.steps.compile(sources, board, self.config), self.steps)


def native_config(config: CompilationConfig) -> CompilationConfig:
    """Returns the constraints of the program that a module carries for this machine.

    The portable kernels, and memory without limits.
    """
    return replace(
        config,
        targets=(replace(config.host, libraries=("reference",)),),
        executor=replace(config.executor, params_placement="ram"),
        workspace_pools=(Pool("ram"),),
        constant_pools=(Pool("flash"),),
        kernels=(),
        flash_limit_bytes=None,
        ram_limit_bytes=None,
    )
