"""Poolings: the calls and the work of kernels that go through a window, some channels at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall, Parameter
from uhost.kernels.mve._overlaps import window_overlap
from uhost.kernels.mve._work import INLINE_LOOP
from uhost.numerics.fixed_point import activation_range
from uhost.ops._pooling import PoolAttributes, window_axes
from uhost.ops._window import Axis
from uhost.targets._work import Work

POST_INDEX_LIMIT = 127
"""Bytes that an access can move its own pointer by."""
_ALU_PER_PIXEL = 3
"""Where a window begins, in loops of C; as measured."""


def why_not_pooled(bound: BoundOperator[Any]) -> str:
    """Returns "" for an int8 pooling, or the reason."""
    dtype = bound.input(0).dtype
    return "" if dtype is DType.INT8 else f"{dtype} input"


def _axes(bound: BoundOperator[PoolAttributes]) -> tuple[Axis, Axis]:
    """Returns rows and columns of the window; whole rows of the image are one row of pixels."""
    rows, columns = window_axes(bound)
    leaves = any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
    if leaves or columns.window < columns.size:
        return rows, columns
    pixels = Axis(columns.size * rows.size, columns.size * rows.window, 1, 1, 0, 0)
    if rows.output > 1:
        return rows, columns
    return Axis(1, 1, 1, 1, 0, 0), Axis(pixels.window, pixels.window, 1, 1, 0, 0)


def pool_call(
    template: str, bound: BoundOperator[PoolAttributes], lanes: int, values: Mapping[str, Any]
) -> KernelCall:
    """Returns the call of a pooling that takes `lanes` channels at once."""
    x = bound.input(0)
    rows, columns = _axes(bound)
    lowest, highest = activation_range(bound.attributes.activation.bounds, bound.output)
    return KernelCall(
        library="mve",
        template=template,
        values={
            **values,
            "images": x.shape[0],
            "image_bytes": x.shape[1] * x.shape[2] * x.shape[3],
            "channels": x.shape[3],
            "lanes": lanes,
            "size": (rows.size, columns.size),
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "before": (rows.before, columns.before),
            "outputs": (rows.output, columns.output),
            "starts_outside": (rows.starts_outside, columns.starts_outside),
            "ends_outside": (rows.ends_outside, columns.ends_outside),
            "steps_itself": x.shape[3] <= POST_INDEX_LIMIT,
            "clamped": (lowest, highest) != (-128, 127),
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("output", "int8_t *", "output"),
        ),
        overlaps=(window_overlap(*window_axes(bound), x.shape[3], x.shape[3], lanes, x.shape[0]),),
    )


def pool_cost(
    bound: BoundOperator[PoolAttributes], call: KernelCall, finish: Work, code_bytes: int
) -> Cost:
    """Returns the cost where `finish` turns what a group of channels gathered into outputs."""
    rows, columns = _axes(bound)
    p = call.values
    pixels = p["images"] * rows.output * columns.output
    tap_rows = p["images"] * int(rows.valid_taps().sum()) * columns.output
    taps = p["images"] * int(rows.valid_taps().sum()) * int(columns.valid_taps().sum())
    whole, rest = divmod(p["channels"], p["lanes"])
    clamp = 2 if p["clamped"] else 0
    tap = Work(vector_load=1, vector_alu=1, alu=0 if p["steps_itself"] else 1, branch=1)
    row = Work(alu=3, branch=2)
    group = finish + Work(alu=3, vector_alu=1 + clamp, vector_store=1)
    work = whole * (taps * tap + tap_rows * row + pixels * group)
    if whole > 1:
        work += pixels * Work(alu=whole + 1, branch=whole)
    if rest:
        work += taps * (tap + Work(vector_alu=1)) + tap_rows * row
        work += pixels * (group + Work(alu=1, vector_alu=2))
    around = Work(alu=_ALU_PER_PIXEL, branch=1, vector_alu=clamp)
    if pixels > 1:
        around += Work(alu=4)
    around += (p["starts_outside"][1] + p["ends_outside"][1]) * Work(alu=7)
    work += pixels * around + (INLINE_LOOP if pixels > 1 else Work(alu=2, branch=1))
    leaves = sum((*p["starts_outside"], *p["ends_outside"]))
    return Cost(work, code_bytes + 16 * leaves)
