"""The same numbers in another type, whatever they stand for.

An integer keeps its lowest bits, a boolean is 0 or 1, and everything but 0 is true. A float
loses its fraction; beyond the integer type it becomes that type's end, and 0 if it is no number.
Source: TFLite Micro, "cast.cc", October 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts

TYPES = tuple(dtype for dtype in DType if dtype is not DType.FLOAT16)


@dataclass(frozen=True, slots=True)
class CastAttributes(Attributes):
    """Nothing to choose: the output says the type."""


def _infer(bound: BoundOperator[CastAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    require_dtype(bound.input(0), *TYPES)
    require_dtype(bound.output, *TYPES)
    return [(bound.input(0).shape, bound.output.dtype)]


def _reference(
    bound: BoundOperator[CastAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    values, dtype = inputs[0], bound.output.dtype
    assert values is not None
    if values.dtype != np.float32 or not dtype.is_integer:
        return [values.astype(dtype.numpy)]
    low, high = dtype.limits
    # The type's end is no float32, the number behind it is.
    inside = (values > np.float32(low)) & (values < np.float32(high + 1))
    made = np.where(inside, values, 0).astype(dtype.numpy)
    made[values <= np.float32(low)] = low
    made[values >= np.float32(high + 1)] = high
    return [made]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(CastAttributes(), check_counts(node, 1))


_BEYOND_TFLM = (DType.UINT8, DType.INT64, DType.UINT64)


def _is_copy(bound: BoundOperator[CastAttributes]) -> bool:
    return bound.input(0).dtype is bound.output.dtype


def _examples() -> Iterable[Example]:
    usual = (DType.INT8, DType.INT16, DType.INT32, DType.UINT32, DType.FLOAT32, DType.BOOL)
    for source in TYPES:
        for target in TYPES:
            if {source, target} - set(usual) and not {source, target} & {
                DType.INT32,
                DType.FLOAT32,
            }:
                continue  # enough of the types that seldom occur
            tensors = Tensor("input", (3, 5), source), Tensor("output", (3, 5), target)
            name = f"{source}_to_{target}"
            graph = single(name, "cast", CastAttributes(), tensors[:1], tensors[1:])
            yield Example(name, graph, (str(source), f"to_{target}"))


OPERATOR = OperatorKind(
    name="cast",
    attributes=CastAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CAST": _import_tflite}},
    examples=_examples,
    is_copy=_is_copy,
    folds_at_import=True,
    is_channelwise=lambda bound: True,
    by_litert=lambda bound: not {bound.input(0).dtype, bound.output.dtype}.isdisjoint(_BEYOND_TFLM),
)
