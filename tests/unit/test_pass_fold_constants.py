"""fold_constants: what depends on constants, or on shapes alone, is computed at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from drawn_graphs import Sketch, check_shapes, kinds, proven

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, Graph, Operator
from uhost.ir.tensor import Tensor
from uhost.ops import _op
from uhost.ops._op import OPERATORS, OperatorKind
from uhost.ops.concatenation import ConcatenationAttributes
from uhost.ops.relu import ReluAttributes
from uhost.ops.reshape import ReshapeAttributes
from uhost.passes import fold_constants
from uhost.registry import Registry


def test_a_reshaped_constant_is_a_constant() -> None:
    sketch = Sketch(1, (2, 3))
    constant = sketch.constant("c", np.arange(6, dtype=np.int8).reshape(3, 2))
    sketch.tensors["c"] = replace(
        sketch.tensors["c"], quantization=sketch.tensors["x"].quantization
    )
    folded = sketch.add("reshape", ReshapeAttributes(), source=constant, shape=(2, 3))
    clamped = sketch.add("relu", ReluAttributes(), source=folded)
    sketch.add("concatenation", ConcatenationAttributes(0), clamped, source="x")
    after = proven(sketch.graph(), "fold_constants")
    assert kinds(after) == ["concatenation"]
    assert after.tensors[clamped].is_constant


@dataclass(frozen=True, slots=True)
class ShapeAttributes(Attributes):
    """Nothing to choose."""


SHAPE_OF = OperatorKind(
    name="shape_of",
    attributes=ShapeAttributes,
    infer=lambda bound: [((len(bound.input(0).shape),), DType.INT32)],
    reference=lambda bound, inputs: [np.array(bound.input(0).shape, np.int32)],
    importers={},
    examples=list,
    reads_shapes=True,
)


@pytest.fixture
def shape_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds an operator that gives the shape of its input."""

    class WithShape(Registry[OperatorKind[Any]]):
        def __getitem__(self, name: str) -> OperatorKind[Any]:
            return SHAPE_OF if name == "shape_of" else OPERATORS[name]

    registry = WithShape("uhost.ops", "OPERATOR", "operator")
    monkeypatch.setattr(fold_constants, "OPERATORS", registry)
    monkeypatch.setattr(_op, "OPERATORS", registry)


@pytest.mark.usefixtures("shape_of")
def test_a_shape_computed_in_the_graph_is_a_constant() -> None:
    tensors = [
        Tensor("x", (2, 1, 5), DType.FLOAT32),
        Tensor("shape", (3,), DType.INT32),
        Tensor("row", (1, 3), DType.INT32),
        Tensor("both", (2, 3), DType.INT32),
        Tensor("given", (1, 3), DType.INT32),
    ]
    operators = (
        Operator("shape", "shape_of", ("x",), ("shape",), ShapeAttributes()),
        Operator("row", "reshape", ("shape",), ("row",), ReshapeAttributes()),
        Operator("join", "concatenation", ("row", "given"), ("both",), ConcatenationAttributes(0)),
    )
    graph = Graph("g", {t.name: t for t in tensors}, operators, ("x", "given"), ("both",))
    folded = fold_constants._fold(graph)
    assert kinds(folded) == ["concatenation"]
    assert folded.tensors["row"].constant().tolist() == [[2, 1, 5]]
    check_shapes(folded)
