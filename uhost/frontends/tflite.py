"""TensorFlow Lite models (`.tflite`): flatbuffers of schema version 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tflite

from uhost.errors import MalformedModelError, ModelError
from uhost.frontends._flatbuffer import Flatbuffer
from uhost.frontends._tflite_shapes import fix_shapes, input_tensors
from uhost.frontends._tflite_subgraphs import Subgraphs
from uhost.ir.graph import Graph

IDENTIFIER = b"TFL3"
SCHEMA_VERSION = 3


@dataclass(frozen=True, slots=True)
class TfliteFrontend:
    """Reads `.tflite` files: the first subgraph, which an interpreter runs, and those it calls."""

    name: str = "tflite"

    def recognizes(self, content: bytes) -> bool:
        """Returns true if `content` bears the file identifier `TFL3`."""
        return content[4:8] == IDENTIFIER

    def load(self, content: bytes, name: str) -> Graph:
        """Returns the verified graph of the model, its tensors and operators in file order.

        Tensor names are the file's, made unique and non-empty; operators are called by
        kind and position. Raises `MalformedModelError` for a damaged file,
        `UnsupportedOperatorError` with all unsupported operators, and `ModelError` for
        shapes that are not fixed.
        """
        place = f"model '{name}'"
        flatbuffer = Flatbuffer(content)
        model = flatbuffer.root(tflite.Model, place)
        if model.Version() != SCHEMA_VERSION:
            raise ModelError(
                f"the file has schema version {model.Version()}; uhost reads {SCHEMA_VERSION}",
                where=place,
                fix="convert the model with a current TensorFlow Lite converter",
            )
        if model.SubgraphsLength() == 0:
            raise MalformedModelError(
                "the file has no subgraph", where=place, fix="export the model again"
            )
        return Subgraphs(flatbuffer, model, name, self.name).model()

    def input_shapes(self, content: bytes, name: str) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the model's inputs by name, -1 where the file leaves them open."""
        found = input_tensors(content, f"model '{name}'")
        return {key: shape for key, (_, shape) in found.items()}

    def with_input_shapes(
        self, content: bytes, name: str, shapes: Mapping[str, tuple[int, ...]]
    ) -> bytes:
        """Returns the file with inputs of these shapes; see `fix_shapes`."""
        return fix_shapes(content, shapes, f"model '{name}'")


FRONTEND = TfliteFrontend()
