"""What importers of `.tflite` operators share: options, constant operands, counts."""

from __future__ import annotations

from typing import Any

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.tensor import Tensor
from uhost.ops._op import SourceNode, UnsupportedNodeError


def malformed(node: SourceNode, what: str) -> MalformedModelError:
    """Returns the error that `node` contradicts the file format."""
    return MalformedModelError(
        what,
        where=f"operator {node.index}",
        fix="the file contradicts itself: export the model again with a current converter",
    )


def check_counts(node: SourceNode, least: int, most: int | None = None) -> tuple[Tensor, ...]:
    """Returns the inputs after checking their number and presence, and that there is one output.

    `most` is `least` where it is None. Raises `MalformedModelError`.
    """
    count = len(node.inputs)
    present = tuple(tensor for tensor in node.inputs if tensor is not None)
    if not least <= count <= (least if most is None else most):
        raise malformed(node, f"the operator has {count} inputs")
    if len(present) != count:
        raise malformed(node, "the operator lacks an input")
    if len(node.outputs) != 1:
        raise malformed(node, f"the operator has {len(node.outputs)} outputs")
    return present


def options_table(node: SourceNode, name: str) -> Any:
    """Returns the options object, which must be of the schema's table `name`, or None."""
    if node.options is not None and type(node.options).__name__ != name:
        raise malformed(
            node, f"the operator's options are {type(node.options).__name__}, not {name}"
        )
    return node.options


def constant_integers(node: SourceNode, tensor: Tensor, role: str) -> tuple[int, ...]:
    """Returns the values of a constant int32 or int64 operand, flattened.

    Raises `UnsupportedNodeError` where they are computed at run time.
    """
    if tensor.dtype not in (DType.INT32, DType.INT64):
        raise malformed(node, f"the {role} is {tensor.dtype}")
    if tensor.values is None:
        raise UnsupportedNodeError(f"the {role} is not a constant")
    return tuple(int(value) for value in tensor.values.reshape(-1))


def resolve_axis(node: SourceNode, axis: int, rank: int) -> int:
    """Returns `axis` counted from the front; raises `MalformedModelError` outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise malformed(node, f"axis {axis} of a tensor of rank {rank}")
    return axis % rank
