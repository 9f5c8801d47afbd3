"""The kernel of layers with int16 activations and int8 weights: columns times four channels.

`templates/kernels/include/dsp_int16.h.j2` has the format of the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import Overlap
from uhost.kernels._quantize import (
    Requantization,
    channel_bias,
    channel_weights,
    conv_requantization,
)
from uhost.kernels.dsp._channels import Integers, clamp_range
from uhost.numerics.fixed_point import cut_multiplier
from uhost.ops._weighted import is_wide
from uhost.ops._window import Axis

_SUM_LIMIT = 1 << 31


def why_not_int16(bound: BoundOperator[Any]) -> str:
    """Returns "" for an int16 layer whose sums of products fit 32 bits, or the reason."""
    if bound.input(0).dtype is not DType.INT16:
        return f"{bound.input(0).dtype} input"
    if (np.abs(channel_weights(bound)).sum(axis=1) << 15 >= _SUM_LIMIT).any():
        return "sums of products that reach 2^31"
    return ""


def pack_fours(weights: Integers) -> Integers:
    """Returns per four channels and four inputs a word of each: inputs 0, 2, 1, 3 as bytes."""
    count, depth = weights.shape
    padded = np.pad(weights, ((0, -count % 4), (0, -depth % 4))) & 0xFF
    fours = padded.reshape(len(padded) // 4, 4, -1, 4)[..., [0, 2, 1, 3]]
    words: Integers = (fours << np.array([0, 8, 16, 24])).sum(axis=-1)
    return words.transpose(0, 2, 1).reshape(-1)


def layer_call(
    template: str,
    bound: BoundOperator[Any],
    weights: Integers,
    values: dict[str, Any],
    *,
    scratch: tuple[str, int],
    includes: tuple[str, ...],
    overlaps: tuple[Overlap, ...] = (),
) -> KernelCall:
    """Returns the call of a layer of int16 activations; `weights` are words as it reads them.

    `values` are those of the template besides `wide`, `lowest` and `highest`. `scratch` is the
    scratch memory's name and bytes; it is no parameter if there are none.
    """
    factors, bias, wide = conv_requantization(bound), channel_bias(bound), is_wide(bound)
    if wide:
        multipliers = cut_multiplier(factors.multipliers).astype(np.int32)
        factors = Requantization(multipliers, 15 - factors.shifts)
    lowest, highest = clamp_range(bound)
    name, scratch_bytes = scratch
    return KernelCall(
        library="dsp",
        template=template,
        values={**values, "wide": wide, "lowest": lowest, "highest": highest},
        parameters=(
            Parameter("input", "const int16_t *", "input"),
            Parameter("weights", "const uint32_t *", "constant", 0),
            Parameter("bias", f"const {'int64_t' if wide else 'int32_t'} *", "constant", 1),
            Parameter("multiplier", "const int32_t *", "constant", 2),
            Parameter("shift", "const int8_t *", "constant", 3),
            Parameter("output", "int16_t *", "output"),
            *((Parameter(name, "int16_t *", "scratch"),) if scratch_bytes else ()),
        ),
        constants=(
            Constant("weights", (weights & 0xFFFFFFFF).astype(np.uint32)),
            Constant("bias", bias.astype(np.int64 if wide else np.int32)),
            Constant("multiplier", factors.multipliers.astype(np.int32)),
            Constant("shift", factors.shifts.astype(np.int8)),
        ),
        scratch_bytes=scratch_bytes,
        includes=("dsp", "requantize", *includes, *(("requantize_wide",) if wide else ())),
        overlaps=overlaps,
    )


def int16_call(bound: BoundOperator[Any], rows: Axis, columns: Axis) -> KernelCall:
    """Returns the call; `rows` and `columns` are the window's, of one pixel for a vector."""
    x, weights = bound.input(0), channel_weights(bound)
    count, taps = weights.shape
    pixels = bound.output.elements // count
    in_place = (rows.window, columns.window) == (1, 1) and pixels * taps == x.elements
    in_place = in_place and taps % 4 == 0
    return layer_call(
        "int16",
        bound,
        pack_fours(weights),
        {
            "size": (rows.size, columns.size),
            "depth": taps // (rows.window * columns.window),
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "dilation": (rows.dilation, columns.dilation),
            "before": (rows.before, columns.before),
            "outputs": (rows.output, columns.output),
            "pixels": pixels,
            "channels": count,
            "quads": -(-taps // 4),
            "taps": taps,
            "in_place": in_place,
            "padded": any(a.starts_outside or a.ends_outside for a in (rows, columns)),
        },
        scratch=("column", 0 if in_place else 8 * -(-taps // 4)),
        includes=("dsp_int16",),
    )
