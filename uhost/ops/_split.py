"""What SPLIT and SPLIT_V share: one input cut along an axis into several outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._movement import require_moved
from uhost.ops._op import SourceNode
from uhost.ops._tflite import constant_integers, malformed, resolve_axis


@dataclass(frozen=True, slots=True)
class SplitAttributes(Attributes):
    """`axis` is counted from the front; `sizes` are those of the outputs along it."""

    axis: int
    sizes: tuple[int, ...]


def infer_split(bound: BoundOperator[SplitAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    """Returns the shapes of the pieces after checking that they make up the input."""
    source, axis, sizes = bound.input(0), bound.attributes.axis, bound.attributes.sizes
    require_moved(source, *bound.outputs)
    if not 0 <= axis < len(source.shape) or sum(sizes) != source.shape[axis] or min(sizes) < 1:
        raise MalformedModelError(
            f"{list(source.shape)} cannot be split along axis {axis} into {list(sizes)}",
            where=f"operator '{bound.name}' ({bound.kind})",
        )
    before, after = source.shape[:axis], source.shape[axis + 1 :]
    return [((*before, size, *after), source.dtype) for size in sizes]


def split_reference(
    bound: BoundOperator[SplitAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    """Returns the pieces."""
    values = inputs[0]
    assert values is not None
    ends = np.cumsum(bound.attributes.sizes)[:-1]
    return [piece.copy() for piece in np.split(values, ends, bound.attributes.axis)]


def constant_axis(node: SourceNode, operand: Tensor | None, rank: int) -> int:
    """Returns the axis that a constant operand of one element names."""
    if operand is None:
        raise malformed(node, "the operator lacks its axis")
    values = constant_integers(node, operand, "axis")
    if len(values) != 1:
        raise malformed(node, f"the axis has {len(values)} elements")
    return resolve_axis(node, values[0], rank)
