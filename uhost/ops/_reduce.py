"""What reductions over constant axes share: attributes, shapes, import, rows and examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import (
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_symmetric,
)
from uhost.ops._elementwise import QUANTIZED, require_one_quantization
from uhost.ops._examples import quantized
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, constant_integers, options_table, resolve_axis


@dataclass(frozen=True, slots=True)
class ReduceAttributes(Attributes):
    """`axes` ascend, counted from the front; `keep_dims` leaves each as an axis of size 1."""

    axes: tuple[int, ...]
    keep_dims: bool


def reduced_count(bound: BoundOperator[ReduceAttributes]) -> int:
    """Returns how many elements become one."""
    return math.prod(bound.input(0).shape[axis] for axis in bound.attributes.axes)


def infer_reduction(
    bound: BoundOperator[ReduceAttributes], *types: DType
) -> list[tuple[tuple[int, ...], DType]]:
    """Returns the shape without the axes after checking types, axes and quantisation."""
    source, at = bound.input(0), bound.attributes
    require_dtype(source, *types)
    require_same_dtype(source, bound.output)
    if list(at.axes) != sorted({axis for axis in at.axes if 0 <= axis < len(source.shape)}):
        raise MalformedModelError(
            f"axes {list(at.axes)} of a tensor of shape {list(source.shape)}",
            where=f"operator '{bound.name}' ({bound.kind})",
        )
    if source.dtype in QUANTIZED:
        require_quantized(source, bound.output)
        require_symmetric(source, bound.output)
    return [(_shape(source.shape, at), source.dtype)]


def _shape(shape: tuple[int, ...], at: ReduceAttributes) -> tuple[int, ...]:
    return tuple(
        1 if axis in at.axes else size
        for axis, size in enumerate(shape)
        if at.keep_dims or axis not in at.axes
    )


def rows_of(bound: BoundOperator[ReduceAttributes], values: Array) -> Array:
    """Returns the elements that become one along the last axis, in the kernels' order."""
    axes = bound.attributes.axes
    kept = [axis for axis in range(values.ndim) if axis not in axes]
    shape = [values.shape[axis] for axis in kept]
    return values.transpose(*kept, *axes).reshape(*shape, reduced_count(bound))


def import_reduction(node: SourceNode) -> Imported:
    """Returns the imported form of a TFLite reduction."""
    inputs = check_counts(node, 2)
    options = options_table(node, "ReducerOptions")
    rank = len(inputs[0].shape)
    numbers = constant_integers(node, inputs[1], "axis")
    axes = tuple(sorted({resolve_axis(node, axis, rank) for axis in numbers}))
    keep_dims = bool(options.KeepDims()) if options is not None else False
    return Imported(ReduceAttributes(axes, keep_dims), inputs[:1])


def reduction(
    name: str,
    function: Callable[[Array], Array],
    *types: DType,
    by_litert: Callable[[BoundOperator[Any]], bool] = lambda bound: False,
) -> OperatorKind[ReduceAttributes]:
    """Returns the operator whose `function` makes rows along the last axis one element each.

    int8 and int16 keep their quantisation.
    """

    def infer(bound: BoundOperator[Any]) -> Sequence[tuple[tuple[int, ...], DType]]:
        found = infer_reduction(bound, *types)
        if bound.output.dtype in QUANTIZED:
            require_one_quantization(bound.output, bound.input(0))
        return found

    def reference(bound: BoundOperator[Any], inputs: Sequence[Array | None]) -> Sequence[Array]:
        assert inputs[0] is not None
        with np.errstate(all="ignore"):
            made = function(rows_of(bound, inputs[0]))
        return [np.asarray(made, inputs[0].dtype).reshape(bound.output.shape)]

    def examples() -> Iterator[Example]:
        for dtype in types:
            yield from reduction_examples(name, dtype, (0.05, 3 if dtype is DType.INT8 else 0))

    return OperatorKind(
        name=name,
        attributes=ReduceAttributes,
        infer=infer,
        reference=reference,
        importers={"tflite": {name.upper(): import_reduction}},
        examples=examples,
        takes_uint8=DType.INT8 in types,
        folds_at_import=True,
        by_litert=by_litert,
    )


def reduction_examples(
    kind: str, dtype: DType, source: tuple[float, int], output: tuple[float, int] | None = None
) -> Iterator[Example]:
    """Yields cases of one type over the usual choices of axes."""
    cases = (
        ("image", (2, 5, 3, 7), (1, 2), True),
        ("last", (3, 11), (1,), False),
        ("first", (9, 4), (0,), True),
        ("outer", (3, 4, 5, 2), (0, 2), False),
        ("all", (3, 2, 5), (0, 1, 2), False),
        ("none", (3, 4), (), False),
    )
    for name, shape, axes, keep in cases:
        at = ReduceAttributes(axes, keep)
        tensors = []
        for label, size, scaling in (
            ("input", shape, source),
            ("output", _shape(shape, at), output or source),
        ):
            if dtype in QUANTIZED:
                tensors.append(quantized(label, size, *scaling, dtype))
            else:
                tensors.append(Tensor(label, size, dtype))
        graph = single(f"{dtype}_{name}", kind, at, tensors[:1], tensors[1:])
        yield Example(f"{dtype}_{name}", graph, (str(dtype),))
