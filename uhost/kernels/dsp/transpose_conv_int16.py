"""TRANSPOSE_CONV with int16 activations: a convolution for each phase of the outputs."""

from __future__ import annotations

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._quantize import Requantization, channel_bias, conv_requantization
from uhost.kernels.dsp._channels import clamp_range
from uhost.kernels.dsp._int16 import pack_fours, why_not_int16
from uhost.kernels.dsp._int16_cost import transpose_int16_cost
from uhost.kernels.dsp._phases import phase_weights
from uhost.numerics.fixed_point import cut_multiplier
from uhost.ops._weighted import is_wide
from uhost.ops.transpose_conv import TransposeConvAttributes


def _supports(bound: BoundOperator[TransposeConvAttributes]) -> str:
    if bound.input(0).shape[0] != 1:
        return f"batch of {bound.input(0).shape[0]}"
    return why_not_int16(bound)


def _lower(bound: BoundOperator[TransposeConvAttributes]) -> KernelCall:
    _, height, width, depth = bound.input(0).shape
    _, _, line, count = bound.output.shape
    factors, bias, wide = conv_requantization(bound), channel_bias(bound), is_wide(bound)
    if wide:
        multipliers = cut_multiplier(factors.multipliers).astype(np.int32)
        factors = Requantization(multipliers, 15 - factors.shifts)
    phases, streams, offset = [], [], 0
    padded = False
    for rows, columns, weights in phase_weights(bound):
        stream = pack_fours(weights)
        quads = -(-weights.shape[1] // 4)
        place = (rows.offset * line + columns.offset) * count
        reads = (rows.first, columns.first, rows.window, columns.window, quads)
        phases.append((*reads, offset, place, rows.outputs, columns.outputs))
        streams.append(stream)
        offset += len(stream)
        padded |= rows.ends_outside(height) or columns.ends_outside(width)
    most_quads = max(quads for _, _, _, _, quads, *_ in phases)
    lowest, highest = clamp_range(bound)
    return KernelCall(
        library="dsp",
        template="transpose_conv_int16",
        values={
            "size": (height, width),
            "depth": depth,
            "channels": count,
            "window": bound.input(1).shape[1:3],
            "stride": bound.attributes.stride,
            "image": bound.attributes.size,
            "phases": tuple(phases),
            "padded": padded,
            "wide": wide,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("input", "const int16_t *", "input"),
            Parameter("weights", "const uint32_t *", "constant", 0),
            Parameter("bias", f"const {'int64_t' if wide else 'int32_t'} *", "constant", 1),
            Parameter("multiplier", "const int32_t *", "constant", 2),
            Parameter("shift", "const int8_t *", "constant", 3),
            Parameter("output", "int16_t *", "output"),
            Parameter("column", "int16_t *", "scratch"),
        ),
        constants=(
            Constant("weights", (np.concatenate(streams) & 0xFFFFFFFF).astype(np.uint32)),
            Constant("bias", bias.astype(np.int64 if wide else np.int32)),
            Constant("multiplier", factors.multipliers.astype(np.int32)),
            Constant("shift", factors.shifts.astype(np.int8)),
        ),
        scratch_bytes=8 * most_quads,
        includes=(
            "dsp",
            "dsp_int16",
            "requantize",
            *(("dsp_inside",) if padded else ()),
            *(("requantize_wide",) if wide else ()),
        ),
    )


KERNEL = Kernel("transpose_conv", _supports, _lower, features=("dsp",), cost=transpose_int16_cost)
