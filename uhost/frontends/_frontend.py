"""What a frontend defines, and the way from a model file to a graph.

A file `uhost/frontends/NAME.py` declares `FRONTEND`, an object of the protocol
`Frontend`. Nothing else needs to know it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from uhost.errors import ConfigError, MalformedModelError, ModelError
from uhost.ir.graph import Graph
from uhost.registry import Registry

FILE_LIMIT_BYTES = 256 * 2**20
"""The largest model file that is read: far beyond any microcontroller, far below any host."""


class Frontend(Protocol):
    """Reads one model format."""

    @property
    def name(self) -> str:
        """The file stem and registry name."""

    def recognizes(self, content: bytes) -> bool:
        """Returns true if `content` begins like a file of this format; reads no further."""

    def load(self, content: bytes, name: str) -> Graph:
        """Returns the verified graph of the model; `name` becomes the graph's name.

        Raises `MalformedModelError` for damage and `UnsupportedOperatorError`, with all
        operators at once, for what uhost cannot compile.
        """


@runtime_checkable
class ShapingFrontend(Frontend, Protocol):
    """A frontend of a format that may leave dimensions of inputs open."""

    def input_shapes(self, content: bytes, name: str) -> Mapping[str, tuple[int, ...]]:
        """Returns the shapes of the model's inputs by name, -1 where they are open."""

    def with_input_shapes(
        self, content: bytes, name: str, shapes: Mapping[str, tuple[int, ...]]
    ) -> bytes:
        """Returns the file with inputs of these shapes.

        Raises `ConfigError` where one is not a shape that the file allows.
        """


FRONTENDS: Registry[Frontend] = Registry("uhost.frontends", "FRONTEND", "model format")


def load_model(path: str | os.PathLike[str], name: str | None = None) -> Graph:
    """Returns the verified graph of the model file at `path`, named `name` or the file's stem.

    Raises `ModelError` where there is no readable file, `MalformedModelError` where no
    frontend recognises it or it is damaged, `UnsupportedOperatorError` where uhost lacks
    operators.
    """
    file = Path(path)
    return load_content(read_model(file), file, file.stem if name is None else name)


def load_content(content: bytes, file: Path, name: str) -> Graph:
    """Returns the verified graph of the bytes of a model file; raises as `load_model` does."""
    frontend = _frontend_of(content, file)
    try:
        return frontend.load(content, name)
    except ModelError as error:
        error.where = f"{file}: {error.where}" if error.where else str(file)
        raise


def shape_inputs(
    file: Path, name: str, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[bytes, frozenset[str], Mapping[str, tuple[int, ...]]]:
    """Returns a model file with the inputs that `shapes` names of those shapes.

    A key is an input's name, or MODEL.INPUT. Also returns the keys that name an input of this
    model, and the shapes that its inputs had, -1 where open. Raises `ConfigError` where a shape
    does not fill what is open.
    """
    content = read_model(file)
    frontend = _frontend_of(content, file)
    if not isinstance(frontend, ShapingFrontend):
        return content, frozenset(), {}
    try:
        had = frontend.input_shapes(content, name)
        keys = {f"{name}.{key}": key for key in had} | {key: key for key in had}
        used = {key: keys[key] for key in shapes if key in keys}
        wanted = {key: shapes[given] for given, key in used.items()}
        return frontend.with_input_shapes(content, name, wanted), frozenset(used), had
    except (ModelError, ConfigError) as error:
        error.where = f"{file}: {error.where}" if error.where else str(file)
        raise


def _frontend_of(content: bytes, file: Path) -> Frontend:
    for frontend in FRONTENDS:
        if frontend.recognizes(content):
            return frontend
    raise MalformedModelError(
        "no frontend recognises the model file",
        where=str(file),
        fix=f"give a model of a known format ({', '.join(FRONTENDS.names())}); "
        "if it is one, the file is damaged: export or download it again",
    )


def read_model(file: Path) -> bytes:
    """Returns the bytes of a regular, non-empty file of at most `FILE_LIMIT_BYTES`."""
    if not file.exists():
        raise ModelError("the model file does not exist", where=str(file), fix="check the path")
    if file.is_dir():
        raise ModelError(
            "the model is a folder, not a file",
            where=str(file),
            fix="give the model file inside it; a TensorFlow SavedModel must be converted "
            "to .tflite first",
        )
    if not file.is_file():
        # Reading a pipe or a device could wait for ever.
        raise ModelError(
            "the model is not a regular file", where=str(file), fix="copy it into a file first"
        )
    try:
        with file.open("rb") as stream:
            content = stream.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise ModelError(
            f"the model file cannot be read: {error.strerror}",
            where=str(file),
            fix="check the permissions",
        ) from error
    if not content:
        raise MalformedModelError(
            "the model file is empty", where=str(file), fix="export or download it again"
        )
    if len(content) > FILE_LIMIT_BYTES:
        raise ModelError(
            f"the model file is larger than {FILE_LIMIT_BYTES // 2**20} MiB",
            where=str(file),
            fix="use a model made for microcontrollers",
        )
    return content
