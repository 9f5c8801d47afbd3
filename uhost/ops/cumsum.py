"""Sums of all elements up to each one along an axis, with or without it, from either end.

TFLite Micro subtracts the zero point of int8 once too often, and its sums overflow; here
every number is taken without its zero point, as the format's quantisation says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.exact_sum import scale_sum, sum_scaling
from uhost.ops._checks import require
from uhost.ops._elementwise import arrays, example, infer_elements
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, reads
from uhost.ops._tflite import (
    check_counts,
    constant_integers,
    malformed,
    options_table,
    resolve_axis,
)

_MOST = 1 << 22
"""Longest axis of int8: its sum fits 32 bits."""


@dataclass(frozen=True, slots=True)
class CumsumAttributes(Attributes):
    """`axis` counts from the front. `exclusive`: without the element itself.

    `reverse`: sums begin at the end.
    """

    axis: int
    exclusive: bool = False
    reverse: bool = False


def _infer(bound: BoundOperator[CumsumAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    found = infer_elements(DType.FLOAT32, DType.INT8, DType.INT32, DType.INT64)(bound)
    source, output, axis = bound.input(0), bound.output, bound.attributes.axis
    require(0 <= axis < len(source.shape), f"axis {axis} of a tensor of rank {len(source.shape)}")
    if output.dtype is DType.INT8:
        require(source.shape[axis] <= _MOST, f"an axis of {source.shape[axis]} elements")
        multiplier, right_shift = sum_scaling(source.scale, output.scale)
        near = multiplier > 0 and right_shift >= 0
        require(near, f"the output scale {output.scale:.9g} is too far from {source.scale:.9g}")
    return found


def _reference(
    bound: BoundOperator[CumsumAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    at, source, output = bound.attributes, bound.input(0), bound.output
    values = np.moveaxis(arrays(inputs)[0], at.axis, -1)
    if output.dtype is DType.INT8:
        values = values.astype(np.int64) - source.zero_point
    if at.reverse:
        values = values[..., ::-1]
    if at.exclusive:
        values = np.concatenate([np.zeros_like(values[..., :1]), values[..., :-1]], axis=-1)
    # numpy adds from the first element to the last, as the kernels do, and wraps as they do.
    total = np.cumsum(values, axis=-1, dtype=values.dtype)
    if at.reverse:
        total = total[..., ::-1]
    total = np.moveaxis(total, -1, at.axis)
    if output.dtype is DType.INT8:
        scaled = scale_sum(total, *sum_scaling(source.scale, output.scale)) + output.zero_point
        total = np.clip(scaled, -128, 127).astype(np.int8)
    return [np.ascontiguousarray(total)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 2)
    options = options_table(node, "CumsumOptions")
    axes = constant_integers(node, inputs[1], "axis")
    if len(axes) != 1:
        raise malformed(node, f"the operator has {len(axes)} axes")
    axis = resolve_axis(node, axes[0], len(inputs[0].shape))
    flags = (bool(options.Exclusive()), bool(options.Reverse())) if options else (False, False)
    return Imported(CumsumAttributes(axis, *flags), inputs[:1])


def _examples() -> Iterator[Example]:
    for dtype in (DType.FLOAT32, DType.INT8, DType.INT32, DType.INT64):
        for axis in (0, 1, 2):
            for exclusive in (False, True):
                for reverse in (False, True):
                    name = f"{dtype}_{axis}{'_exclusive' * exclusive}{'_reverse' * reverse}"
                    if dtype.size_bytes > 1 and dtype.is_integer and axis != 1:
                        continue
                    yield example(
                        "cumsum",
                        name,
                        dtype,
                        ((3, 4, 5),),
                        CumsumAttributes(axis, exclusive, reverse),
                        zero_points=(0,),
                        output=(0.1, -3),
                    )
    for name, shape, zero_point in (("zero_point", (2, 9), 30), ("long", (2, 300), -128)):
        yield example(
            "cumsum",
            f"int8_{name}",
            DType.INT8,
            (shape,),
            CumsumAttributes(1),
            zero_points=(zero_point,),
            output=(3.0, -128),
        )


OPERATOR = OperatorKind(
    name="cumsum",
    attributes=CumsumAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUMSUM": _import_tflite}},
    examples=_examples,
    by_litert=reads(DType.INT32, DType.INT64),
)
