"""What compiling one model for one board gives, before and after the toolchain ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.codegen.emit import Lowered
from uhost.config.board import Board
from uhost.config.compilation import CompilationConfig
from uhost.ir.graph import Graph
from uhost.toolchain._toolchain import Image


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A model as C for a board: `source` as loaded, `lowered` as printed into `artifact`.

    `digest` identifies the artifact; the firmware carries it, and a session refuses a
    device that runs another. `origin` is the model file's bytes, its name with them.
    """

    source: Graph
    lowered: Lowered
    board: Board
    config: CompilationConfig
    artifact: Artifact
    digest: str
    origin: tuple[str, bytes]


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A compiled model, and the image linked from it in `folder`."""

    compiled: Compiled
    image: Image
    folder: Path


Compile = Callable[[Compiled, Board], Compiled]
"""Compiles the same model for another board."""

Link = Callable[[Compiled], Built]
"""Runs the toolchain on a compiled model."""
