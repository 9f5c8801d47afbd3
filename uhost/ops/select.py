"""The first of two tensors of one shape where a condition holds, else the second.

The condition has their shape, is a scalar, or is a vector along their first axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._checks import require
from uhost.ops._elementwise import NoAttributes, arrays, import_plain
from uhost.ops._op import Example, OperatorKind
from uhost.ops._select import infer_select, select, select_example, select_examples


def condition_shape(bound: BoundOperator[NoAttributes]) -> tuple[int, ...]:
    """Returns the condition's shape with axes of size 1 behind it, so that it broadcasts."""
    shape, rank = bound.input(0).shape, len(bound.input(1).shape)
    return shape + (1,) * (rank - 1) if len(shape) == 1 and rank > 1 else shape


def _infer(bound: BoundOperator[NoAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    first, second = bound.input(1), bound.input(2)
    require(first.shape == second.shape, "the inputs have different shapes")
    fits = {(), first.shape, first.shape[:1]}
    require(bound.input(0).shape in fits, f"'{bound.input(0).name}' fits neither axis nor shape")
    infer_select(_aligned(bound))
    return [(first.shape, first.dtype)]


def _aligned(bound: BoundOperator[NoAttributes]) -> BoundOperator[NoAttributes]:
    condition = replace(bound.input(0), shape=condition_shape(bound), values=None)
    return replace(bound, inputs=(condition, *bound.inputs[1:]))


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    condition, first, second = arrays(inputs)
    return select(bound, [condition.reshape(condition_shape(bound)), first, second])


def _examples() -> Iterator[Example]:
    yield from select_examples("select")
    for dtype in (DType.FLOAT32, DType.INT8):
        yield select_example("select", f"{dtype}_scalar", dtype, [(), (3, 4), (3, 4)])
    yield select_example("select", "int32_rows", DType.INT32, [(4,), (4, 4), (4, 4)])


OPERATOR = OperatorKind(
    name="select",
    attributes=NoAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SELECT": import_plain(3)}},
    examples=_examples,
    takes_uint8=True,
    folds_at_import=True,
    by_litert=lambda bound: True,
)
