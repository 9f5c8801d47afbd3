"""DEPTHWISE_CONV_2D with a 3x3 window and a fused ReLU, one row of outputs at a time.

Three rows of four channels are all the scratch, and rows go from the top to the bottom, so that
the output may follow the input into its bytes at a distance of a few rows. For that every input
row is split up to three times.
"""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._lines import Lines
from uhost.kernels.dsp._strips import strips_of
from uhost.kernels.dsp._strips_cost import rectified_cost
from uhost.kernels.dsp.depthwise_conv_2d_3x3_rectified import (
    rectified_lines,
    strips_call,
    why_not_rectified,
)
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes


def _rows(bound: BoundOperator[DepthwiseConv2DAttributes]) -> Lines | None:
    return next((lines for lines in rectified_lines(bound) if not lines.are_columns), None)


def _supports(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    reason = why_not_rectified(bound)
    if reason:
        return reason
    rows = _rows(bound)
    if rows is None:
        return "stride above 2 along rows, or rows too long"
    return "a single row of outputs" if rows.across.output == 1 else ""


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    rows = _rows(bound)
    assert rows is not None
    return strips_call(bound, rows, strips_of(rows, 1))


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("dsp",), cost=rectified_cost)
