"""What ARG_MAX and ARG_MIN share: the place of the extreme along one axis.

Of equal elements the first wins, and a NaN never replaces another; one in front stays, as in
TFLite Micro.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require, require_dtype
from uhost.ops._elementwise import QUANTIZED, arrays
from uhost.ops._examples import quantized
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, constant_integers, malformed, resolve_axis

_TYPES = (DType.FLOAT32, DType.INT8, DType.INT32)


@dataclass(frozen=True, slots=True)
class ArgAttributes(Attributes):
    """`axis` counts from the front; it is not in the output's shape."""

    axis: int


def arg_operator(name: str, which: Literal["max", "min"]) -> OperatorKind[ArgAttributes]:
    """Returns the operator that finds the largest or the smallest element."""

    def infer(bound: BoundOperator[Any]) -> Sequence[tuple[tuple[int, ...], DType]]:
        source, axis = bound.input(0), bound.attributes.axis
        require_dtype(source, *_TYPES)
        require_dtype(bound.output, DType.INT32, DType.INT64)
        rank = len(source.shape)
        require(0 <= axis < rank, f"axis {axis} of a tensor of rank {rank}")
        return [(source.shape[:axis] + source.shape[axis + 1 :], bound.output.dtype)]

    def reference(bound: BoundOperator[Any], inputs: Sequence[Array | None]) -> Sequence[Array]:
        rows = np.moveaxis(arrays(inputs)[0], bound.attributes.axis, -1)
        best, place = rows[..., 0], np.zeros(rows.shape[:-1], bound.output.dtype.numpy)
        for index in range(1, rows.shape[-1]):
            other = rows[..., index]
            wins = other > best if which == "max" else other < best
            best, place = np.where(wins, other, best), np.where(wins, index, place)
        return [place.astype(bound.output.dtype.numpy)]

    return OperatorKind(
        name=name,
        attributes=ArgAttributes,
        infer=infer,
        reference=reference,
        importers={"tflite": {name.upper(): _import_tflite}},
        examples=lambda: _examples(name),
        takes_uint8=True,
        by_litert=lambda bound: (
            DType.INT64 is bound.output.dtype or bound.input(0).dtype is DType.INT32
        ),
    )


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 2)
    axes = constant_integers(node, inputs[1], "axis")
    if len(axes) != 1:
        raise malformed(node, f"the operator has {len(axes)} axes")
    axis = resolve_axis(node, axes[0], len(inputs[0].shape))
    return Imported(ArgAttributes(axis), inputs[:1])


def _examples(kind: str) -> Iterator[Example]:
    for dtype in _TYPES:
        for shape, axis in (((2, 3, 9), 2), ((2, 7, 4), 1), ((12,), 0)):
            for made in (DType.INT32, DType.INT64)[: 1 if axis == 2 else 2]:
                name = f"{dtype}_{len(shape)}_{axis}" + "_int64" * (made is DType.INT64)
                source = Tensor("input", shape, dtype)
                if dtype in QUANTIZED:
                    source = quantized("input", shape, 0.05, 0, dtype)
                output = Tensor("output", shape[:axis] + shape[axis + 1 :], made)
                graph = single(name, kind, ArgAttributes(axis), [source], [output])
                yield Example(name, graph, (str(dtype), *("int64",) * (made is DType.INT64)))
