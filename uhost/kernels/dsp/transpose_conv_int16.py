"""TRANSPOSE_CONV with int16 activations: a convolution for each phase of the outputs."""

from __future__ import annotations

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._int16 import layer_call, pack_fours, why_not_int16
from uhost.kernels.dsp._int16_cost import transpose_int16_cost
from uhost.kernels.dsp._phases import phase_weights
from uhost.ops.transpose_conv import TransposeConvAttributes


def _supports(bound: BoundOperator[TransposeConvAttributes]) -> str:
    if bound.input(0).shape[0] != 1:
        return f"batch of {bound.input(0).shape[0]}"
    return why_not_int16(bound)


def _lower(bound: BoundOperator[TransposeConvAttributes]) -> KernelCall:
    _, height, width, depth = bound.input(0).shape
    _, _, line, count = bound.output.shape
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
    return layer_call(
        "transpose_conv_int16",
        bound,
        np.concatenate(streams),
        {
            "size": (height, width),
            "depth": depth,
            "channels": count,
            "window": bound.input(1).shape[1:3],
            "stride": bound.attributes.stride,
            "image": bound.attributes.size,
            "phases": tuple(phases),
            "padded": padded,
        },
        scratch=("column", 8 * most_quads),
        includes=("dsp_int16", *(("dsp_inside",) if padded else ())),
    )


KERNEL = Kernel("transpose_conv", _supports, _lower, features=("dsp",), cost=transpose_int16_cost)
