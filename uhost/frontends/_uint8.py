"""Files with uint8 activations: the same graph in int8, every number less 128.

A number q with zero point z means what q - 128 with z - 128 means. So operators on uint8
become operators on int8, with the same arithmetic and the same kernels, wherever an operator
kind says that this is exact (`OperatorKind.takes_uint8`). Inputs and outputs of the model keep
the file's type: a QUANTIZE stands between them and the rest, unless their only neighbours
are operators that take either type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from uhost.frontends._import import fresh_name
from uhost.frontends._node import Declared, Node, RefusedTensor
from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Quantization, Tensor

_EITHER = frozenset({"QUANTIZE", "DEQUANTIZE"})
_OFFSET = 128


def recentre(
    nodes: Sequence[Node], inputs: Sequence[Declared], outputs: Sequence[Declared]
) -> tuple[Node, ...]:
    """Returns nodes that compute in int8 what `nodes` compute in uint8, in order."""
    ports = {tensor.name: tensor for tensor in (*inputs, *outputs) if _is_uint8(tensor)}
    kept = {name for name in ports if _can_stay(name, nodes)}
    names = {t.name for node in nodes for t in node.declared if t is not None} | ports.keys()
    shifted: dict[str, Tensor] = {}

    def within(tensor: Declared | None) -> Declared | None:
        """Returns what stands for a tensor inside the graph."""
        if not isinstance(tensor, Tensor) or not _is_uint8(tensor) or tensor.name in kept:
            return tensor
        if tensor.name not in shifted:
            name = tensor.name
            if name in ports:
                name = fresh_name(f"{name}_int8", len(names), names)
                names.add(name)
            shifted[tensor.name] = _shifted(tensor, name)
        return shifted[tensor.name]

    inner = []
    for node in nodes:
        if any(_is_uint8(t) and t.name not in kept for t in node.declared if t is not None):
            node = replace(
                node,
                declared_inputs=tuple(within(t) for t in node.declared_inputs),
                declared_outputs=tuple(t for t in map(within, node.declared_outputs) if t),
                from_uint8=True,
            )
        inner.append(node)
    before: list[Node] = []
    after: list[Node] = []
    written = {t.name for t in inputs}
    for name, tensor in ports.items():
        if name not in shifted:
            continue
        pair = (tensor, shifted[name]) if name in written else (shifted[name], tensor)
        group = before if name in written else after
        index = len(nodes) + len(before) + len(after)
        place = f"the type of '{name}'"
        group.append(Node(index, "QUANTIZE", pair[:1], pair[1:], None, place, from_uint8=True))
    return (*before, *inner, *after)


def recentre_state(tensor: Tensor, values: Array) -> tuple[Tensor, Array]:
    """Returns a state as it is inside the graph, with its initial values."""
    if not _is_uint8(tensor):
        return tensor, values
    return _shifted(tensor, tensor.name), recentred(values)


def recentred(values: Array) -> Array:
    """Returns the int8 of uint8 values, or the uint8 of int8 values."""
    flipped = values.view(np.uint8) ^ np.uint8(_OFFSET)
    return flipped.view(np.int8 if values.dtype == np.uint8 else np.uint8)


def _can_stay(name: str, nodes: Sequence[Node]) -> bool:
    """True if all neighbours of a uint8 input or output of the model take uint8 as it is."""
    users = [node for node in nodes if any(t and t.name == name for t in node.declared)]
    return all(node.operator in _EITHER and not _is_wide(node) for node in users)


def _is_wide(node: Node) -> bool:
    """True for a QUANTIZE between uint8 and a wider integer, which is one between int8 and it."""
    ends = [t.dtype for t in node.declared if isinstance(t, Tensor)]
    return any(dtype in (DType.INT16, DType.INT32) for dtype in ends)


def _is_uint8(tensor: Declared | None) -> bool:
    return (
        not isinstance(tensor, RefusedTensor)
        and tensor is not None
        and tensor.dtype is DType.UINT8
        and tensor.quantization is not None
    )


def _shifted(tensor: Tensor, name: str) -> Tensor:
    assert tensor.quantization is not None
    quantization = Quantization(
        tensor.quantization.scale,
        tuple(zero_point - _OFFSET for zero_point in tensor.quantization.zero_point),
        tensor.quantization.axis,
    )
    values = tensor.values
    if values is not None:
        values = recentred(values)
    return Tensor(name, tensor.shape, DType.INT8, quantization, values)
