"""Zeros to which slices are added at their indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype
from uhost.ops._movement import example_tensor, misfit, require_moved
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, constant_integers

TYPES = (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT32, DType.INT64, DType.BOOL)


@dataclass(frozen=True, slots=True)
class ScatterNdAttributes(Attributes):
    """`shape` is that of the output; the last axis of the indices counts its first axes."""

    shape: tuple[int, ...]


def _infer(bound: BoundOperator[ScatterNdAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    indices, updates, shape = bound.input(0), bound.input(1), bound.attributes.shape
    require_dtype(updates, *TYPES)
    require_moved(updates, bound.output)
    require_dtype(indices, DType.INT32)
    depth = indices.shape[-1] if indices.shape else 0
    expected = (*indices.shape[:-1], *shape[depth:])
    if not 0 < depth <= len(shape) or updates.shape != expected or min(shape) < 1:
        raise misfit(
            bound,
            f"{list(updates.shape)} put into {list(shape)} by {list(indices.shape)} indices",
        )
    return [(shape, updates.dtype)]


def _reference(
    bound: BoundOperator[ScatterNdAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    """Returns the sums; integers wrap. An index outside adds nothing: LiteRT ends the run."""
    indices, updates, shape = inputs[0], inputs[1], bound.attributes.shape
    assert indices is not None
    assert updates is not None
    depth = indices.shape[-1]
    result = np.zeros(shape, updates.dtype)
    rows = updates.reshape(-1, *shape[depth:])
    for place, row in zip(indices.reshape(-1, depth), rows, strict=True):
        if ((place >= 0) & (place < shape[:depth])).all():
            at = tuple(int(index) for index in place)
            with np.errstate(over="ignore"):
                result[at] = result[at] | row if row.dtype == np.bool_ else result[at] + row
    return [result]


def _import_tflite(node: SourceNode) -> Imported:
    indices, updates, operand = check_counts(node, 3)
    shape = constant_integers(node, operand, "shape")
    return Imported(ScatterNdAttributes(shape), (indices, updates))


def _examples() -> Iterable[Example]:
    def case(
        name: str, shape: tuple[int, ...], indices: tuple[int, ...], dtype: DType = DType.INT8
    ) -> Example:
        places = Tensor("indices", indices, DType.INT32)
        added = example_tensor("updates", (*indices[:-1], *shape[indices[-1] :]), dtype)
        output = example_tensor("output", shape, dtype)
        graph = single(name, "scatter_nd", ScatterNdAttributes(shape), [places, added], [output])
        return Example(name, graph, (str(dtype),))

    for dtype in TYPES:
        yield case(str(dtype), (4, 3), (3, 1), dtype)
    yield case("int8_elements", (3, 4), (7, 2))
    yield case("int8_blocks", (3, 2, 5), (2, 2, 1))
    yield case("float32_often", (2,), (9, 1), DType.FLOAT32)


OPERATOR = OperatorKind(
    name="scatter_nd",
    attributes=ScatterNdAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SCATTER_ND": _import_tflite}},
    examples=_examples,
    by_litert=lambda bound: True,
)
