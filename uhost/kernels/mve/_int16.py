"""The kernel of layers with int16 activations and int8 weights: a column times four channels.

`templates/kernels/include/mve_int16.h.j2` has the format of the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import over_windows
from uhost.kernels._quantize import channel_bias, channel_weights, conv_requantization
from uhost.kernels.mve import _work as work
from uhost.kernels.mve._channels import Integers
from uhost.numerics.fixed_point import activation_range, cut_multiplier
from uhost.ops._weighted import is_wide, weight_zero_point
from uhost.ops._window import Axis
from uhost.targets._work import Work

_SUM_LIMIT = 1 << 31
_LANES = 8
_GROUP = 4


def why_not_int16(bound: BoundOperator[Any]) -> str:
    """Returns "" for an int16 layer whose sums of products fit 32 bits, or the reason."""
    if bound.input(0).dtype is not DType.INT16:
        return f"{bound.input(0).dtype} input"
    if weight_zero_point(bound):
        return "weights with a zero point"
    if (np.abs(channel_weights(bound)).sum(axis=1) << 15 >= _SUM_LIMIT).any():
        return "sums of products that reach 2^31"
    return ""


def _pack(weights: Integers) -> Integers:
    """Returns per four channels and eight taps the taps' weights, channel by channel."""
    count, taps = weights.shape
    padded = np.pad(weights, ((0, -count % _GROUP), (0, -taps % _LANES)))
    parts = padded.reshape(len(padded) // _GROUP, _GROUP, -1, _LANES).transpose(0, 2, 1, 3)
    stream: Integers = np.ascontiguousarray(parts).reshape(-1)
    return stream


def int16_call(bound: BoundOperator[Any], rows: Axis, columns: Axis) -> KernelCall:
    """Returns the call; `rows` and `columns` are the window's, of one pixel for a vector.

    The window's columns have no dilation.
    """
    x, weights = bound.input(0), channel_weights(bound)
    count, taps = weights.shape
    depth = taps // (rows.window * columns.window)
    factors, bias = conv_requantization(bound), channel_bias(bound)
    wide = is_wide(bound)
    multipliers, shifts = factors.multipliers.astype(np.int64), factors.shifts
    if wide:
        multipliers, shifts = cut_multiplier(factors.multipliers), 15 - shifts
    lowest, highest = activation_range(bound.attributes.activation.bounds, bound.output)
    padded = any(a.starts_outside or a.ends_outside for a in (rows, columns))
    # One row of taps lies in the image as it does in a column.
    direct = rows.window == 1 and not padded
    return KernelCall(
        library="mve",
        template="int16",
        values={
            "size": (rows.size, columns.size),
            "depth": depth,
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "dilation": rows.dilation,
            "before": (rows.before, columns.before),
            "outputs": (rows.output, columns.output),
            "channels": count,
            "taps": taps,
            "group_bytes": _GROUP * _LANES * -(-taps // _LANES),
            "direct": direct,
            "padded": padded,
            "wide": wide,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("input", "const int16_t *", "input"),
            Parameter("weights", "const int8_t *", "constant", 0),
            Parameter("bias", f"const {'int64_t' if wide else 'int32_t'} *", "constant", 1),
            Parameter("multiplier", "const int32_t *", "constant", 2),
            Parameter("shift", "const int8_t *", "constant", 3),
            Parameter("output", "int16_t *", "output"),
            *(() if direct else (Parameter("column", "int16_t *", "scratch"),)),
        ),
        constants=(
            Constant("weights", _pack(weights).astype(np.int8)),
            Constant("bias", bias.astype(np.int64 if wide else np.int32), alignment=8),
            Constant("multiplier", multipliers.astype(np.int32)),
            Constant("shift", shifts.astype(np.int8)),
        ),
        scratch_bytes=0 if direct else 2 * taps,
        includes=("mve", "mve_int16", "requantize", *(("requantize_wide",) if wide else ())),
        overlaps=(
            over_windows(
                rows,
                columns,
                2 * x.shape[-1],
                2 * count,
                reads_first=not direct or count <= _GROUP,
            ),
        ),
    )


_SUMS = Work(store_many=2, load_many=1, words=14, alu=6, branch=3)
_EIGHT = Work(vector_load=5, vector_multiply=4, branch=1)
_GROUP_AROUND = {True: Work(alu=9), False: Work(alu=16)}
_NEXT_GROUP = Work(alu=14)
_CHANNEL = {
    True: Work(multiply=4, alu=18, load=5, load_many=1, words=2, store=1, branch=4),
    False: Work(multiply=2, alu=25, load=5, store=1, branch=5),
}
"""Requantisation of one sum, in 64 bits and in 32; as GCC 12 compiles the C around the sums."""


def int16_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of a call that `int16_call` made."""
    p = call.values
    groups = -(-p["channels"] // _GROUP)
    pixel = groups * (_SUMS + -(-p["taps"] // _LANES) * _EIGHT)
    if groups > 1:
        pixel += groups * _GROUP_AROUND[p["wide"]] + (groups - 1) * _NEXT_GROUP
    pixel += p["channels"] * _CHANNEL[p["wide"]]
    if p["channels"] % _GROUP:
        pixel += p["channels"] * Work(alu=3)
    if not p["direct"]:
        row = work.copy_row(2 * p["window"][1] * p["depth"])
        row += Work(alu=20 if p["padded"] else 7, branch=3)
        pixel += p["window"][0] * row
    code = 240 if p["wide"] else 290
    if not p["direct"]:
        code += 145 if p["padded"] else 90
    return Cost(pixel * (p["outputs"][0] * p["outputs"][1]), code, {"mve_int16": 72})
